package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Queries may have one more axis than keys. It counts blocks of heads or of rows. A rank has the block of its
// coordinate, or all blocks. Blocks of heads are computed as batches, whose key heads may be the same or may begin at
// different key heads. Blocks of rows are batches with the same keys, whose rows begin at different positions.

// over returns the mesh axis over which the blocks are split, or "".
func (a *attended) over() string {
	if at := a.stmt.Blocks(); at != hostir.Unmapped {
		return hostir.SplitOver(a.stmt.Queries().Axes[at])
	}
	return ""
}

// apart returns the number of attentions to declare. With a causal mask, which begins at another position in each
// block, it is the number of blocks of rows on a rank. Otherwise it is 1.
func (a *attended) apart() int64 {
	if a.shape.RowsStep > 0 && a.stmt.Kind().Causal {
		return a.shape.Blocks
	}
	return 1
}

// allKeyHeads returns the number of key heads that all blocks together use.
func (a *attended) allKeyHeads() extents.Quantity {
	k := a.of(a.stmt.Keys()).dims
	return k[len(k)-3].extent
}

// allBlocks returns the number of blocks on all ranks.
func (a *attended) allBlocks() extents.Quantity {
	return a.scope.Extent(a.stmt.Queries().Axes[a.stmt.Blocks()].Extent)
}

// keyHeads returns the number of key heads that one block of queries uses.
func (a *attended) keyHeads() extents.Quantity {
	switch {
	case a.shape.HeadsStep == 0:
		return a.allKeyHeads()
	case a.shape.Share >= a.shape.QueryHeads:
		return extents.Number(1)
	default:
		return extents.Divided(a.allKeyHeads(), a.allBlocks())
	}
}

// together returns how many consecutive blocks use the same key heads.
func (a *attended) together() extents.Quantity {
	switch {
	case a.shape.HeadsStep == 0 || a.allKeyHeads().IsOne():
		return a.allBlocks()
	case a.shape.Share > a.shape.QueryHeads:
		return extents.Divided(a.allBlocks(), a.allKeyHeads())
	default:
		return extents.Number(1)
	}
}

// blocks returns the walk over the blocks of one call: groups of blocks with the same key heads, and the blocks of a
// group. It has no axes if a call has a single block.
func (a *attended) blocks() walk {
	w := walk{strides: make([][]extents.Quantity, len(a.buffers))}
	if a.shape.Blocks == 1 || a.apart() > 1 {
		return w
	}
	same := a.together()
	w.extents = []extents.Quantity{extents.Divided(a.allBlocks(), same), same}
	for i, u := range a.buffers {
		step, next := a.keysStep(u), extents.Number(0)
		if !a.stmt.ReadsKeys(u.tensor) {
			step, next = extents.Plus(extents.Times(same, u.dims[0].stride), step), u.dims[0].stride
		}
		w.strides[i] = []extents.Quantity{step, next}
	}
	return w
}

// keysStep returns the distance in elements from the key heads of one group of blocks to the key heads of the next
// group, in keys, values or their gradients. It is 0 for other buffers, and if all blocks use the same heads.
func (a *attended) keysStep(u *buffer) extents.Quantity {
	if a.shape.HeadsStep == 0 || !a.stmt.ReadsKeys(u.tensor) && !slices.Contains(a.ofKeys(), u) {
		return extents.Number(0)
	}
	return extents.Times(a.keyHeads(), u.dims[len(u.dims)-3].stride)
}

// ofKeys returns the buffers of the gradients of keys and values, or nil for a forward pass.
func (a *attended) ofKeys() []*buffer {
	if !a.stmt.IsGrad() {
		return nil
	}
	return a.buffers[len(a.buffers)-2:]
}

// start returns the pointer with which a call begins: to a block of rows or, in keys, values and their gradients, to
// the key heads that this rank's blocks use.
func (a *attended) start(u *buffer, block int64) calls.Pointer {
	p := a.pointer(u)
	if block > 0 && !a.stmt.ReadsKeys(u.tensor) {
		return behind(p, extents.Number(block), u.dims[0].stride)
	}
	over, step := a.over(), a.keysStep(u)
	if over == "" || step.Size == 0 || a.together().Size == a.allBlocks().Size {
		return p
	}
	at := a.here(a.meshOf(a.stmt.Queries()), over)
	if same := a.together(); !same.IsOne() {
		at = expr.Op("/", expr.Op("-", at, expr.Op("%", at, same.Expr)), same.Expr)
	}
	return behind(p, extents.Quantity{Expr: at, Size: 1}, step)
}

// cleared returns launches that zero the gradients of keys and values, if one block does not use all key heads.
// Otherwise it returns nil.
func (a *attended) cleared() []calls.Stmt {
	var list []calls.Stmt
	if a.keyHeads().Size == a.allKeyHeads().Size {
		return nil
	}
	keys := a.of(a.stmt.Keys())
	for _, u := range a.ofKeys() {
		row := make([]int, len(keys.tensor.Axes))
		for i, d := range keys.dims {
			row[d.axis] = u.dims[len(u.dims)-len(keys.dims)+i].axis
		}
		w := newWalk(u, [][]int{row}, []*buffer{keys})
		a.check(a.stmt, w)
		zeros := a.launch(a.stmt, "unary", "scale(0)", w, []*buffer{u, keys})
		*zeros[0].Meta() = a.info(a.stmt, "Zeros_"+u.tensor.Name, "zeros of "+u.tensor.Name)
		list = append(list, zeros...)
	}
	if len(list) > 0 {
		list[0].Meta().Note = "zeros for the key heads of other blocks"
	}
	return list
}
