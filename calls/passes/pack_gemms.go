package passes

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/packing"
)

// packGemms makes GEMMs copy operands and results to and from aligned rows in their workspaces, where that is faster.
//
//	Shape(name kCShape, m 2000, n 5120, k 3500)  ->  Shape(name kCShape, m 2000, n 5120, k 3500, pack_a)
func packGemms(p *calls.Program) {
	table, shapes, values := effects.New(p), calls.ByName(p.Shapes), p.Values()
	for gemm := range calls.Each[*calls.Gemm](p.Body) {
		d := shapes[gemm.Shape]
		if d.Scales {
			continue // their rows are always aligned
		}
		operands, _ := table.Of(gemm)
		problem := d.Problem(values)
		problem.AlignC, problem.AlignA, problem.AlignB = operands[effects.Out].Align, operands[effects.A].Align, operands[effects.B].Align
		packs := problem.Choose()
		d.PackA, d.PackB, d.PackC = packs.A, packs.B, packs.C
		gemm.Note = noteOf(packs, gemm.Note)
	}
}

// noteOf returns the given note if it is not empty, and otherwise a note that names the copied matrices. The note is
// empty if none are copied.
func noteOf(packs packing.Packs, note string) string {
	var copied []string
	for _, operand := range []struct {
		name string
		is   bool
	}{{"A", packs.A}, {"B", packs.B}, {"C", packs.C}} {
		if operand.is {
			copied = append(copied, operand.name)
		}
	}
	if len(copied) == 0 || note != "" {
		return note
	}
	return "a copy of " + strings.Join(copied, " and of ") + " has rows at multiples of 16 bytes: cuBLASLt is several times as fast with those"
}
