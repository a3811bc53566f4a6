package soak

import (
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// specTime is the time limit of one spec, including all runs of the interpreter.
const specTime = 60 * time.Second

// An Outcome is the result of examining a spec.
type Outcome struct {
	Refused    diag.Code // code of the first error; empty if the spec is not refused
	Finding    *Finding
	Pipeline   *model.Pipeline
	Program    *hostir.Program // the program, if the spec is accepted
	Compared   bool            // whether all results can be compared; false if rounding decides between some values
	Interprets int
	files      []emit.File
}

// Examine checks every property of a spec that can be checked without compiling a program. A panic of hirgen is a
// finding, and so is a spec that takes longer than specTime.
func Examine(spec Spec) Outcome {
	done := make(chan Outcome, 1)
	go func() {
		e := &examination{spec: spec}
		defer func() {
			if failure := recover(); failure != nil {
				e.outcome.Finding = e.finding(Panics, "%v\n%s", failure, debug.Stack())
			}
			done <- e.outcome
		}()
		e.run()
	}()
	select {
	case outcome := <-done:
		return outcome
	case <-time.After(specTime):
		return Outcome{Finding: &Finding{Spec: spec, Kind: Unbounded, Detail: fmt.Sprintf("no end within %v", specTime)}}
	}
}

// examination is the state of examining one spec.
type examination struct {
	spec    Spec
	outcome Outcome
	oracle  *oracle
	host    string // text of the host program after the last pass that changed it
}

func (e *examination) finding(kind Kind, format string, args ...any) *Finding {
	return &Finding{Spec: e.spec, Kind: kind, Detail: fmt.Sprintf(format, args...), Host: e.host}
}

func (e *examination) run() {
	pipeline, err := model.Load("spec.yaml", []byte(e.spec.Text()), nil)
	if err != nil {
		e.refused("load", err)
		return
	}
	e.oracle, err = newOracle(pipeline, e.seed())
	if err != nil {
		e.outcome.Finding = e.finding(Internal, "evaluating: %v", err)
		return
	}
	program, err := lowering.Host(pipeline, lowering.Options{Verify: true, DumpAfter: e.afterPass})
	switch {
	case err != nil:
		e.refused("lower", err)
		return
	case e.outcome.Finding != nil:
		return
	}
	if err := lowertest.CheckNeeds(program); err != nil {
		e.outcome.Finding = e.finding(Internal, "%v", err)
		return
	}
	if e.outcome.files, err = e.emitted(program); err != nil {
		if e.outcome.Finding == nil {
			e.outcome.Finding = e.finding(Disagrees, "%v", err)
		}
		return
	}
	e.outcome.Pipeline, e.outcome.Program, e.outcome.Compared = pipeline, program, e.oracle.comparable()
	for seed := range uint64(2) {
		e.interpret("the last pass", program, e.seed()+seed, true)
	}
}

// seed returns a seed for inputs and orders that depends only on the spec, so that the same spec is examined in the
// same way.
func (e *examination) seed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.spec.Text())) // it never fails
	return h.Sum64() % 1000
}

// refused checks that an error is a documented error of a spec with a position. For a legal spec, every error is a
// finding. An error about "other bits" is always a finding: with deterministic: true, passes replace all calls whose
// results vary, so that later checks never report one.
func (e *examination) refused(stage string, err error) {
	if e.outcome.Finding != nil {
		return
	}
	var errs *diag.Errors
	if !errors.As(err, &errs) || len(errs.Items) == 0 || strings.Contains(err.Error(), "after pass") ||
		strings.Contains(err.Error(), "other bits") {
		e.outcome.Finding = e.finding(Internal, "%s: %v", stage, err)
		return
	}
	for _, d := range errs.Items {
		if d.Code == diag.HostIRInvalid || d.Code == diag.HostIRSyntax || diag.Explain(string(d.Code)) == "" || !d.Pos.IsValid() {
			e.outcome.Finding = e.finding(Internal, "%s: %v", stage, err)
			return
		}
	}
	if e.spec.Legal {
		e.outcome.Finding = e.finding(Unwelcome, "%s: %v", stage, err)
	}
	e.outcome.Refused = errs.Items[0].Code
}

// afterPass interprets the program after a pass that changed it, read back from its text form.
func (e *examination) afterPass(pass, listing string, changed bool) {
	if !changed || e.outcome.Finding != nil {
		return
	}
	e.host = listing
	program, err := text.Parse(pass, listing)
	if err != nil {
		e.outcome.Finding = e.finding(NoText, "after %s: %v", pass, err)
		return
	}
	e.interpret("pass "+pass, program, e.seed(), false)
}

// interpret runs a program and records a finding if its results are wrong or it does not run. after names the pass in
// the finding. interpret does nothing if there already is a finding.
func (e *examination) interpret(after string, program *hostir.Program, seed uint64, everywhere bool) {
	if e.outcome.Finding != nil {
		return
	}
	e.outcome.Interprets++
	err := e.oracle.check(program, seed, everywhere)
	var wrong *lowertest.WrongError
	switch {
	case errors.As(err, &wrong):
		e.outcome.Finding = e.finding(Differs, "after %s: %v", after, err)
	case err != nil:
		e.outcome.Finding = e.finding(Stuck, "after %s: %v", after, err)
	}
}
