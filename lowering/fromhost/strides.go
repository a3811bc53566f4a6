package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// A walk has the axes over which a kernel iterates, and the stride of each result and operand along each axis, in
// elements. The stride is 0 along an axis over which an operand is broadcast.
type walk struct {
	extents []extents.Quantity
	strides [][]extents.Quantity // by result or operand, then by axis
}

// newWalk aligns operands with the axes of the result, according to hostir.AxisMap. Then it merges axes that are
// contiguous in all tensors. Most walks then have one axis.
func newWalk(out *buffer, maps [][]int, in []*buffer) walk {
	w := walk{strides: make([][]extents.Quantity, 1+len(in))}
	for _, d := range out.dims {
		w.extents = append(w.extents, d.extent)
		w.strides[0] = append(w.strides[0], d.stride)
		for i, operand := range in {
			w.strides[i+1] = append(w.strides[i+1], strideAlong(operand, maps[i], d))
		}
	}
	return w.merged()
}

// strideAlong returns the stride of an operand along an axis of the result. It is 0 if the operand has no such axis, or
// has another extent along it. axes maps the operand's axes to the result's.
func strideAlong(operand *buffer, axes []int, out dim) extents.Quantity {
	for _, d := range operand.dims {
		if axes[d.axis] == out.axis && d.extent.Size == out.extent.Size {
			return d.stride
		}
	}
	return extents.Number(0)
}

// merged returns the walk with as few axes as the strides allow, but at least one.
func (w walk) merged() walk {
	m := w.joined()
	if len(m.extents) == 0 {
		m.extents = []extents.Quantity{extents.Number(1)}
		for v := range m.strides {
			m.strides[v] = []extents.Quantity{extents.Number(1)}
		}
	}
	return m
}

// joined drops axes of one element, and merges an axis with the next inner axis if all strides allow that.
func (w walk) joined() walk {
	m := walk{strides: make([][]extents.Quantity, len(w.strides))}
	for i, extent := range w.extents {
		if extent.IsOne() {
			continue
		}
		last := len(m.extents) - 1
		if last >= 0 && w.continues(m, i) {
			m.extents[last] = extents.Times(m.extents[last], extent)
			for v := range m.strides {
				m.strides[v][last] = w.strides[v][i]
			}
			continue
		}
		m.extents = append(m.extents, extent)
		for v := range m.strides {
			m.strides[v] = append(m.strides[v], w.strides[v][i])
		}
	}
	return m
}

// continues reports whether axis i of w can be merged into the last axis of m: a step along that axis equals a whole
// run along axis i.
func (w walk) continues(m walk, i int) bool {
	last := len(m.extents) - 1
	for v := range m.strides {
		if m.strides[v][last].Size != extents.MustMultiply(w.extents[i].Size, w.strides[v][i].Size) {
			return false
		}
	}
	return true
}

// dense reports whether all tensors are contiguous, with their elements in the same order.
func (w walk) dense() bool {
	return len(w.extents) == 1 && !slices.ContainsFunc(w.strides, func(s []extents.Quantity) bool { return !s[0].IsOne() })
}

// operand returns tensor v of the walk for a launch. It has extents and strides only if the walk is not dense.
func (b *builder) operand(w walk, v int, u *buffer) calls.Operand {
	if w.dense() {
		return calls.Operand{At: b.pointer(u)}
	}
	return calls.Operand{At: b.pointer(u), Extents: exprs(w.extents), Strides: exprs(w.strides[v])}
}

// elements returns the number of elements if all tensors are contiguous; nil otherwise.
func (w walk) elements() expr.Expr {
	if !w.dense() {
		return nil
	}
	return w.extents[0].Expr
}

func exprs(quantities []extents.Quantity) []expr.Expr {
	return lists.Map(quantities, func(q extents.Quantity) expr.Expr { return q.Expr })
}

// along returns the walk of two buffers along axes of equal extents, which are merged where possible.
func along(out, in []dim) walk {
	w := walk{strides: make([][]extents.Quantity, 2)}
	for i := range out {
		w.extents = append(w.extents, out[i].extent)
		w.strides[0] = append(w.strides[0], out[i].stride)
		w.strides[1] = append(w.strides[1], in[i].stride)
	}
	return w.joined()
}

// then returns a walk along the axes of w, and inside them along the axes of inner.
func (w walk) then(inner walk) walk {
	both := walk{slices.Concat(w.extents, inner.extents), make([][]extents.Quantity, len(w.strides))}
	for v := range both.strides {
		both.strides[v] = slices.Concat(w.strides[v], inner.strides[v])
	}
	return both
}
