package soak

import (
	"fmt"
	"math"
	"slices"

	callsinterp "github.com/hirgen/hirgen/calls/interp"
	callverify "github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// oracle has the inputs and the expected outputs of every rank.
type oracle struct{ *lowertest.Oracle }

func newOracle(p *model.Pipeline, seed uint64) (*oracle, error) {
	of, err := lowertest.OracleOf(p, seed)
	return &oracle{of}, err
}

// comparable reports whether all elements can be compared: no bound is infinite. A bound is infinite if rounding
// decides between values.
func (o *oracle) comparable() bool {
	for _, a := range o.Bounds {
		if slices.ContainsFunc(a.Data, func(e float64) bool { return math.IsInf(e, 0) }) {
			return false
		}
	}
	return true
}

// check interprets a program with all ranks on one node, and compares the results. It does the same with the fallback
// variant, if any, and one partition of the ranks into nodes: the seed picks it from lowertest.Partitions. If everywhere
// is set, because all passes have run, check tries all partitions and checks the calls too.
func (o *oracle) check(program *hostir.Program, seed uint64, everywhere bool) error {
	err := o.checkOn(nil, program, seed)
	if err == nil && everywhere {
		err = o.checkCalls(nil, program, seed)
	}
	if err != nil || program.Fallback == nil {
		return err
	}
	ways := lowertest.Partitions(len(o.Inputs))
	if !everywhere {
		ways = ways[seed%uint64(len(ways)):][:1]
	}
	for _, nodes := range ways {
		err := o.checkOn(nodes, program.Fallback, seed)
		if err == nil && everywhere {
			err = o.checkCalls(nodes, program.Fallback, seed)
		}
		if err != nil {
			return fmt.Errorf("nodes %v: %w", nodes, err)
		}
	}
	return nil
}

// checkOn interprets a host program on given nodes and compares the results.
func (o *oracle) checkOn(nodes []int, program *hostir.Program, seed uint64) error {
	got, err := interp.RunOn(nodes, program, o.Inputs, seed)
	if err == nil {
		err = o.Compare(got, seed)
	}
	return err
}

// checkCalls verifies and interprets the calls of a host program after all passes, and compares the results. It
// returns nil if the program cannot be lowered to calls.
func (o *oracle) checkCalls(nodes []int, program *hostir.Program, seed uint64) error {
	lowered, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		return nil //nolint:nilerr // what cannot be printed is refused when it is emitted
	}
	if err := callverify.Program(lowered.Program); err != nil {
		return &lowertest.WrongError{Message: err.Error()}
	}
	got, err := callsinterp.Run(lowered.Program, nodes, o.Inputs, seed)
	if err == nil {
		err = o.Compare(got, seed)
	}
	if err != nil {
		return fmt.Errorf("the calls: %w", err)
	}
	return nil
}
