package lowering

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	callpasses "github.com/hirgen/hirgen/calls/passes"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/fromhost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
	"github.com/hirgen/hirgen/lowering/pipeline"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// Options configure a lowering. The zero value runs every pass and verifies nothing.
type Options struct {
	// Disable lists the names of optional passes to skip.
	Disable []string
	// DumpAfter, if set, is called after each of the Steps that runs, with the text of the program and whether the step
	// changed the text.
	DumpAfter func(pass string, text string, changed bool)
	// Verify checks the host program's invariants before the first pass and after each pass.
	Verify bool
	// Machine, if set, is the machine for which schedule: auto and assign-placements predict. Measurements may be from
	// another machine, so they are then used only where there is no prediction.
	Machine *cost.Machine
}

// Lower lowers a pipeline to the calls that every rank makes. Errors in the pipeline are *diag.Errors with positions in
// the spec. Other errors mean that a pass has a bug, or that opt.Disable contains a required or unknown pass.
func Lower(p *model.Pipeline, opt Options) (*calls.Described, error) {
	host, err := Host(p, opt)
	if err != nil {
		return nil, err
	}
	return Calls(host, opt)
}

// Calls lowers a host program and its fallback variant to calls.
func Calls(host *hostir.Program, opt Options) (*calls.Described, error) {
	t, err := translate(host, callpasses.Passes, opt)
	if err != nil {
		return nil, err
	}
	return t.Describe(), nil
}

// OrderOf returns the calls of a host program and of its fallback variant for predictions, after the passes that a
// prediction needs (callpasses.Order).
func OrderOf(host *hostir.Program) ([]*calls.Program, error) {
	t, err := translate(host, callpasses.Order, Options{})
	if err != nil {
		return nil, err
	}
	return t.Programs(), nil
}

// translate translates a host program and its fallback variant to calls, checks them with sameBits, and runs passes on
// them.
func translate(host *hostir.Program, passes []callpasses.Pass, opt Options) (*fromhost.Translation, error) {
	t, err := fromhost.Translate(host)
	if err != nil {
		return nil, err
	}
	if err := sameBits(host, t.Programs()); err != nil {
		return nil, err
	}
	d := &dumper{after: opt.DumpAfter}
	d.dump(Translating, func() string { return calltext.PrintAll(t.Programs()) })
	for _, pass := range passes {
		for _, p := range t.Programs() {
			pass.Run(p)
		}
		d.dump(pass.Name, func() string { return calltext.PrintAll(t.Programs()) })
	}
	return t, nil
}

// Host lowers a pipeline to the host program that every rank runs. Its errors are those of Lower.
func Host(p *model.Pipeline, opt Options) (*hostir.Program, error) {
	program, err := Build(p)
	if err != nil {
		return nil, err
	}
	if opt.Machine != nil {
		if err := schedules.ChooseOn(program, opt.Machine, LowerChosen(opt.Disable...)); err != nil {
			return nil, err
		}
	}
	if err := Run(program, Passes, opt); err != nil {
		return nil, err
	}
	return program, nil
}

// Run runs passes in the given order, without the disabled ones. It returns the first error of a pass, of opt.Disable
// or, with opt.Verify, of the verifier.
func Run(program *hostir.Program, passes []Pass, opt Options) error {
	if err := checkDisabled(passes, opt.Disable); err != nil {
		return err
	}
	d := &dumper{after: opt.DumpAfter}
	d.dump(Building, func() string { return text.Print(program) })
	if err := check(program, Building, opt); err != nil {
		return err
	}
	for _, pass := range passes {
		if slices.Contains(opt.Disable, pass.Name) {
			continue
		}
		switch pass.Name {
		case choosing:
			pass.Run = chooseFor(opt.Machine, opt.Disable...)
		case schedules.Placing:
			pass.Run = placeFor(opt.Machine, opt.Disable...)
		}
		if err := runOnVariants(pass, program); err != nil {
			return err
		}
		d.dump(pass.Name, func() string { return text.Print(program) })
		if err := check(program, pass.Name, opt); err != nil {
			return err
		}
	}
	return nil
}

// runOnVariants runs a pass on the fallback variant, if there is one, and then on the program.
func runOnVariants(pass Pass, program *hostir.Program) error {
	for _, form := range slices.Backward(program.Variants()) {
		if err := pass.Run(form); err != nil {
			return err
		}
	}
	return nil
}

// check verifies a program after the pass with the given name, or after Building, if opt.Verify is set.
func check(program *hostir.Program, pass string, opt Options) error {
	if !opt.Verify {
		return nil
	}
	if err := verify.Program(program); err != nil {
		return fmt.Errorf("after pass %s: %w", pass, err)
	}
	return nil
}

// dumper calls after, if that is set, with the text of a program. It keeps the last text, to detect steps that change
// nothing.
type dumper struct {
	after func(pass, text string, changed bool)
	last  string
}

func (d *dumper) dump(pass string, program func() string) {
	if d.after == nil {
		return
	}
	printed := program()
	d.after(pass, printed, printed != d.last)
	d.last = printed
}

// checkDisabled returns an error for the first disabled pass that is required or unknown.
func checkDisabled(passes []Pass, disabled []string) error {
	for _, name := range disabled {
		i := slices.IndexFunc(passes, func(p Pass) bool { return p.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("there is no pass %q; `hirgen passes` lists them", name)
		case passes[i].Required:
			return fmt.Errorf("pass %s is required: %s", name, passes[i].Why)
		}
	}
	return nil
}

// Graph returns, as text, the graph of a pipeline's tasks and their dependencies, from which the pass overlap derives
// the order of the program.
func Graph(p *model.Pipeline) (string, error) {
	graph, err := TaskGraph(p, nil)
	if err != nil {
		return "", err
	}
	return graph.String(), nil
}

// TaskGraph returns the graph that Graph prints. If m is set, schedule: auto and assign-placements predict for that
// machine.
func TaskGraph(p *model.Pipeline, m *cost.Machine) (*pipeline.Graph, error) {
	program, err := Build(p)
	if err != nil {
		return nil, err
	}
	if m != nil {
		if err := schedules.ChooseOn(program, m, LowerChosen()); err != nil {
			return nil, err
		}
	}
	before := slices.IndexFunc(Passes, func(pass Pass) bool { return pass.Name == "overlap" })
	if err := Run(program, Passes[:before], Options{Machine: m}); err != nil {
		return nil, err
	}
	return pipeline.Build(program)
}
