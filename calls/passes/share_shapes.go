package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// shareShapes lets GEMMs of the same shape share one constant. Each GEMM keeps its plan and its label.
//
//	Shape(name kUpShape, plan up_plan_, m M, ...)  ->  Shape(name kUpShape, like kGateShape, plan up_plan_, m M, ...)
func shareShapes(p *calls.Program) {
	for i, d := range p.Shapes {
		if at := slices.IndexFunc(p.Shapes[:i], d.Alike); at >= 0 {
			d.Like = p.Shapes[at].Name
		}
	}
}
