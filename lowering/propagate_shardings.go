package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// PropagateShardings gives tensors whose axes the user left open the Device and
// Stream axes of their operands, in program order. What the user wrote stays.
//
// Requires: layouts are set.
// Establishes: a result that was left open is split as its operands are.
//
//	before: H = Linear(X, W)      X [DIDx(D), m, K], H [D, m, N] inferred
//	after:  H = Linear(X, W)      H [DIDx(D), m, N] inferred
func PropagateShardings(p *hostir.Program) error {
	for _, s := range p.Body {
		out, rows := hostir.Result(s), hostir.AxisMap(s)
		if out == nil || rows == nil || !out.Inferred {
			continue
		}
		for i, t := range hostir.Uses(s) {
			inherit(t, out, rows[i])
		}
	}
	return nil
}

// inherit copies the kinds of t's axes to the serial axes of out that run along
// with them. A mesh axis splits one axis of a tensor, and one axis is streamed.
func inherit(t, out *hostir.Tensor, row []int) {
	if out.Mesh == nil {
		out.Mesh = t.Mesh
	}
	if !sameMesh(t, out) {
		return
	}
	for i, a := range t.Axes {
		j := row[i]
		if j == hostir.Unmapped || (a.Kind != domain.Device && a.Kind != domain.Stream) ||
			out.Axes[j].Kind != domain.Serial || out.Axes[j].Extent.Size != a.Extent.Size {
			continue
		}
		taken := slices.ContainsFunc(out.Axes, func(o domain.Axis) bool { return o.Kind == a.Kind && o.Mesh == a.Mesh })
		if !taken {
			out.Axes[j].Kind, out.Axes[j].Mesh = a.Kind, a.Mesh
		}
	}
}
