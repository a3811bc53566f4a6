package prove_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
	"github.com/hirgen/hirgen/prove/values"
)

// TestPanicIsNotDecided makes the prover panic in the goroutines of Each: while it issues the program, while it loads the
// model, and while it evaluates the model. The report names the check and a position, and asks for a report of the mistake.
func TestPanicIsNotDecided(t *testing.T) {
	const spec = "hirgen: 1\nname: p\ntensors: {A: [8, 4]}\nops:\n  - B = sum(A, axis=1)\n"
	load := func(params map[string]int64) (*model.Pipeline, error) {
		return model.Load("spec.yaml", []byte(spec), params)
	}
	unloaded := func(map[string]int64) (*model.Pipeline, error) { panic("no model") }
	unevaluated := func(params map[string]int64) (*model.Pipeline, error) {
		p, err := load(params)
		if err == nil {
			p.Ops[0].Kind = "unknown"
		}
		return p, err
	}
	const hint = "\n  hint: this is a mistake in hirgen, not in the spec: please report it with the spec\n"
	for _, c := range []struct {
		name   string
		load   values.Load
		change func(*calls.Program)
		want   string
		emits  bool
	}{
		{"issue", load, func(p *calls.Program) { p.Meshes[0].Extents[0] = nil }, "spec.yaml: not decided: memory: internal error: ", false},
		{"model", unloaded, func(*calls.Program) {}, "spec.yaml: not decided: values: internal error: no model", true},
		{"evaluate", unevaluated, func(*calls.Program) {}, "spec.yaml: not decided: values: internal error: eval: unknown operation", true},
	} {
		pipeline, err := load(nil)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Lower(pipeline, lowering.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.change(program.Program)
		reports, err := prove.Each(program.Programs(), c.load)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		reports[0].Text(&text)
		if found := reports[0].Findings; len(found) != 1 || !found[0].Internal {
			t.Errorf("%s: the findings are %+v", c.name, found)
		}
		if !strings.Contains(text.String(), c.want) || !strings.Contains(text.String(), hint) || reports[0].Emits() != c.emits {
			t.Errorf("%s: emits is %v: %s", c.name, reports[0].Emits(), text.String())
		}
	}
}

// TestProgramThatCannotBeIssued checks that Each returns an error for a program without ranks.
func TestProgramThatCannotBeIssued(t *testing.T) {
	reports, err := prove.Each([]*calls.Program{{Name: "p"}}, nil)
	if err == nil || reports[0] != nil {
		t.Errorf("the report is %v, and the error %v", reports[0], err)
	}
}
