package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// slotsSpecs are pipelines of four iterations. Each iteration uses its own slice of a buffer that the program
// allocates.
var slotsSpecs = map[string]string{
	"gathered": "tensors: {A: [4, DIDx(2), 3, 2], B: [2, 2], C: [Stream(4), 2, 3, 2]}\nops: [\"C = matmul(A, B)\"]\n",
	"chained": "tensors: {A: [4, DIDx(2), 3, 2], B: [2, 2], T: [Stream(4), 2, 3, 2], C: [Stream(4), 2, 3, 2]}\nops: [\"T = matmul(A, B)\", " +
		"\"C = neg(T)\"]\n",
}

// TestSlots is the first half of property 8: if iterations share a buffer with fewer slots than iterations, edges order the reuse of
// slots, so any number of slots is enough. If the slots are reduced after the waits were placed, the program has a race.
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

// TestSlotsOfLeads is the second half of property 8: a transfer with lead k needs k+1 slots. With fewer, the lead is refused
// because of the edge that orders the reuse of a slot.
func TestSlotsOfLeads(t *testing.T) {
	before := slices.IndexFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == "overlap" })
	for name, text := range slotsSpecs {
		for lead := int64(1); lead <= 3; lead++ {
			for slots := int64(1); slots <= 4; slots++ {
				t.Run(fmt.Sprintf("%s/%d/%d", name, lead, slots), func(t *testing.T) {
					p, err := model.Load("spec.yaml", fmt.Appendf(nil,
						"hirgen: 1\nname: slots\nmesh: {x: 2}\ndtype: fp32\n%sschedule: {streams: 2, all: {lead: %d}}\n", text, lead), nil)
					if err != nil {
						t.Fatal(err)
					}
					made, err := withSlots(t, p, before, slots)
					if slots <= lead {
						if err == nil || !strings.Contains(err.Error(),
							fmt.Sprintf("follows matmul into %s of %s", map[string]string{"gathered": "C", "chained": "T"}[name], agoIn(slots))) {
							t.Errorf("%d slots are too few: %v", slots, err)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if err := made.Race(); err != nil {
						t.Error(err)
					}
					if late, err := withSlots(t, p, len(lowering.Passes), lead); err != nil || late.Race() == nil {
						t.Errorf("%d slots in a program that was made for four are enough: %v", lead, err)
					}
				})
			}
		}
	}
}

// agoIn returns the words for an edge over this number of iterations in a refusal.
func agoIn(steps int64) string {
	if steps == 1 {
		return "the iteration before"
	}
	return fmt.Sprintf("%d iterations before", steps)
}

// lowerWithSlots lowers a pipeline. Before pass number at, it replaces each index of a slice of a temporary buffer that
// depends on the loop variable s by the index modulo slots, so that iterations share slices. It returns the
// happens-before relation of the lowered program.
func lowerWithSlots(t *testing.T, p *model.Pipeline, at int, slots int64) *lowertest.HappensBefore {
	t.Helper()
	h, err := withSlots(t, p, at, slots)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// withSlots is lowerWithSlots, but returns the error if a later pass refuses the spec.
func withSlots(t *testing.T, p *model.Pipeline, at int, slots int64) (*lowertest.HappensBefore, error) {
	t.Helper()
	program, err := lowering.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := lowering.Run(program, lowering.Passes[:at], lowering.Options{}); err != nil {
		t.Fatal(err)
	}
	found, seen := false, map[*hostir.Tensor]bool{}
	for s := range hostir.All(program.Body) {
		hostir.Views(s, func(t *hostir.Tensor) {
			if sel, ok := t.Of.(*hostir.Select); ok && !seen[t] && sel.In.Role == hostir.Temp && expr.Mentions(sel.Index, "s") {
				sel.Index, found = &expr.Binary{Op: "%", X: sel.Index, Y: expr.Int(slots)}, true
			}
			seen[t] = true
		})
	}
	if !found {
		t.Fatal("no iteration has a slice of a buffer of the program")
	}
	if err := lowering.Run(program, lowering.Passes[at:], lowering.Options{}); err != nil {
		return nil, err
	}
	if err := lowertest.NewOracle(t, p, 1).Check(program, 1); at < len(lowering.Passes) && err != nil {
		t.Error(err)
	}
	return lowertest.NewHappensBefore(nil, program)
}
