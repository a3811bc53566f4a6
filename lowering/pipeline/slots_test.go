package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// slotsSpecs are pipelines of four iterations, in which what was gathered or summed lies in a buffer of the program.
var slotsSpecs = map[string]string{
	"gathered": "tensors: {A: [4, DIDx(2), 3, 2], B: [2, 2], C: [Stream(4), 2, 3, 2]}\nops: [\"C = matmul(A, B)\"]\n",
	"chained":  "tensors: {A: [4, DIDx(2), 3, 2], B: [2, 2], T: [Stream(4), 2, 3, 2], C: [Stream(4), 2, 3, 2]}\nops: [\"T = matmul(A, B)\", \"C = relu(T)\"]\n",
}

// TestSlots is property 8: where iterations share a buffer of fewer slots than there are iterations, edges order its
// reuse, so that any number is enough. A program that was made for more slots than it has races.
func TestSlots(t *testing.T) {
	for name, text := range slotsSpecs {
		for _, choices := range []string{"", "streams: 2", "preset: reference", "preset: reference, joins: after"} {
			for slots := int64(1); slots <= 4; slots++ {
				t.Run(fmt.Sprintf("%s/%s/%d", name, choices, slots), func(t *testing.T) {
					p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: slots\nmesh: {x: 2}\ndtype: fp32\n"+text+"schedule: {"+choices+"}\n"), nil)
					if err != nil {
						t.Fatal(err)
					}
					before := slices.IndexFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == "overlap" })
					made := lowerWithSlots(t, p, before, slots)
					if err := made.Race(); err != nil {
						t.Errorf("%d slots: %v", slots, err)
					}
					late := lowerWithSlots(t, p, len(lowering.Passes), slots)
					if race := late.Race(); (race == nil) != (slots == 4) {
						t.Errorf("%d slots in a program that was made for four: %v", slots, race)
					}
				})
			}
		}
	}
}

// lowerWithSlots lowers a pipeline, and gives each buffer of the program over which iterations go some slots, at one
// place among the passes.
func lowerWithSlots(t *testing.T, p *model.Pipeline, at int, slots int64) *lowertest.HappensBefore {
	t.Helper()
	program, err := lowering.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := lowering.Run(program, lowering.Passes[:at], lowering.Options{}); err != nil {
		t.Fatal(err)
	}
	found := false
	hostir.Walk(program.Body, func(s hostir.Stmt) bool {
		if sel, ok := s.(*hostir.Select); ok && sel.In.Role == hostir.Temp && sel.Index == expr.Var("s") {
			sel.Index, found = &expr.Binary{Op: "%", X: sel.Index, Y: expr.Int(slots)}, true
		}
		return true
	})
	if !found {
		t.Fatal("no iteration has a slice of a buffer of the program")
	}
	if err := lowering.Run(program, lowering.Passes[at:], lowering.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := lowertest.NewOracle(t, p, 1).Check(program, 1); at < len(lowering.Passes) && err != nil {
		t.Error(err)
	}
	h, err := lowertest.NewHappensBefore(nil, program)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
