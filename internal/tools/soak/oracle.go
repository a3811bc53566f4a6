package soak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	callsinterp "github.com/hirgen/hirgen/calls/interp"
	callverify "github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// oracle has the inputs and the expected outputs of every rank. It leaves out outputs that are too sensitive to compare.
type oracle struct{ *lowertest.Oracle }

func newOracle(p *model.Pipeline, seed uint64) (*oracle, error) {
	of, err := lowertest.OracleOf(p, seed)
	if err != nil {
		return nil, err
	}
	o, values := &oracle{of}, of.Values
	infinite := false
	for _, a := range values {
		for _, v := range a.Data {
			infinite = infinite || math.IsNaN(v) || math.IsInf(v, 0)
		}
	}
	if infinite || masksAreUnsure(p, values) {
		for _, out := range p.Outputs {
			o.Unsure[out.Name] = true
		}
	}
	err = o.perturb(p, seed)
	return o, err
}

// masksAreUnsure reports whether a computed mask has an element close to 0. A different summation order may round it to
// 0. Small changes of the inputs rarely do.
func masksAreUnsure(p *model.Pipeline, values map[string]*eval.Array) bool {
	for _, op := range p.Ops {
		if op.Kind != model.OpBinary || !slices.Contains([]string{"masked", "keep", "drop"}, op.Fn) || slices.Contains(p.Inputs, op.In[1]) {
			continue
		}
		mask := values[op.In[1].Name]
		near := 4 * rounding(op.In[1].DType) * eval.RootMeanSquare(mask)
		if slices.ContainsFunc(mask.Data, func(v float64) bool { return v != 0 && math.Abs(v) <= near }) {
			return true
		}
	}
	return false
}

// rounding returns the largest distance from 1 of a number that a type rounds to 1. Integers are not rounded.
func rounding(t domain.DType) float64 {
	if t.IsInteger() {
		return 0
	}
	return max(t.Epsilon()/2, 0x1p-23)
}

// perturb finds outputs that are too sensitive to compare. A small change of the inputs changes them by more than the
// tolerance, as in the reciprocal of a difference. Or rounding between operations does, as in a selection by a number
// that rounds to 0. A different summation order or a fused kernel may have the same effect.
func (o *oracle) perturb(p *model.Pipeline, seed uint64) error {
	if len(o.Tolerance) == 0 {
		return nil
	}
	inputs := eval.Fill(p, seed)
	eps := 0.0
	for _, t := range p.Tensors {
		eps = max(eps, rounding(t.DType))
	}
	integers := map[string]bool{} // seeds and masks: they are not perturbed
	for _, t := range p.Inputs {
		integers[t.Name] = t.DType.IsInteger()
	}
	differs := func(others map[string]*eval.Array) {
		for name, tolerance := range o.Tolerance {
			if eval.Wrong(others[name].Data, o.Values[name].Data, tolerance*0.7, o.RMS[name]) > 0 {
				o.Unsure[name] = true
			}
		}
	}
	unrounded, err := eval.RunFloat64(p, inputs)
	if err != nil {
		return err
	}
	differs(unrounded)
	random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // no secret depends on it
	for range 3 {
		moved := map[string]*eval.Array{}
		for name, a := range inputs {
			b := &eval.Array{Shape: a.Shape, Data: make([]float64, len(a.Data))}
			for i, v := range a.Data {
				if b.Data[i] = v; !integers[name] {
					b.Data[i] *= 1 + eps*(2*random.Float64()-1)
				}
			}
			moved[name] = b
		}
		others, err := eval.Run(p, moved)
		if err != nil {
			return err
		}
		differs(others)
	}
	return nil
}

// comparable reports whether every output can be compared.
func (o *oracle) comparable() bool { return len(o.Unsure) == 0 }

// steady reports whether the outputs can also be compared for the inputs that a program makes itself, with seeds 1, 2,
// and so on
func steady(spec Spec) bool {
	p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
	if err != nil {
		return false
	}
	for call := range uint64(checkedCalls) {
		if o, err := newOracle(p, 1+call); err != nil || !o.comparable() {
			return false
		}
	}
	return true
}

// check interprets a program on one node and its fallback variant on several nodes. It places ranks on nodes in one
// way. If everywhere is set, because all passes have run, it checks all ways and the calls too.
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

// checkOn interprets a host program.
func (o *oracle) checkOn(nodes []int, program *hostir.Program, seed uint64) error {
	got, err := interp.RunOn(nodes, program, o.Inputs, seed)
	if err == nil {
		err = o.Compare(got, seed)
	}
	return err
}

// checkCalls interprets the calls of a host program after all passes.
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
