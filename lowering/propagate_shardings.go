package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// PropagateShardings gives the program's own tensors, whose axes the user left open,
// the Device and Stream axes of their operands, in program order. What the user wrote
// stays, and so does every output: its parts are what the caller finds on each rank.
// Where operands disagree on an axis, it stays whole.
//
// Requires: layouts are set.
// Establishes: a temporary that was left open is split as its operands are.
//
//	before: H = Linear(X, W)      X [DIDx(D), m, K], H [D, m, N] inferred
//	after:  H = Linear(X, W)      H [DIDx(D), m, N] inferred
func PropagateShardings(p *hostir.Program) error {
	for _, s := range p.Body {
		out, rows := hostir.Result(s), hostir.AxisMap(s)
		if out == nil || rows == nil || !out.Inferred || out.Role != hostir.Temp {
			continue
		}
		operands := hostir.Uses(s)
		if out.Mesh == nil {
			out.Mesh = operands[0].Mesh
		}
		for j := range out.Axes {
			inherit(operands, rows, out, j)
		}
	}
	return nil
}

// inherit gives axis j of out the kind on which the operands agree. A mesh axis splits
// one axis of a tensor, and one axis is streamed.
func inherit(operands []*hostir.Tensor, rows [][]int, out *hostir.Tensor, j int) {
	if out.Axes[j].Kind != domain.Serial {
		return
	}
	var kind *domain.Axis
	for k, t := range operands {
		i := slices.Index(rows[k], j)
		if i < 0 || t.Axes[i].Extent.Size != out.Axes[j].Extent.Size {
			continue
		}
		a := &t.Axes[i]
		if kind != nil && (kind.Kind != a.Kind || kind.Mesh != a.Mesh) || !sameMesh(t, out) {
			return
		}
		kind = a
	}
	if kind == nil || kind.Kind != domain.Device && kind.Kind != domain.Stream {
		return
	}
	if !slices.ContainsFunc(out.Axes, func(o domain.Axis) bool { return o.Kind == kind.Kind && o.Mesh == kind.Mesh }) {
		out.Axes[j].Kind, out.Axes[j].Mesh = kind.Kind, kind.Mesh
	}
}
