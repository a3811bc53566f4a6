package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// keepSlice shrinks a buffer to one slice if its slices are used one after the other. That is, on every rank, the
// existing waits order all uses of a slice before all uses of the next slice.
//
//	Buffer(name Z_, elements D * kRows)                  Buffer(name Z_, elements kRows)
//	For(var s): Gemm(out Z_ + s * kRows)             ->
//	            Launch(out A_ + s * kRows, a Z_ + s * kRows)
//
// Buffers keep all slices if other ranks access them, or if they share memory with another buffer.
func keepSlice(p *calls.Program) {
	apart := map[string]bool{} // buffers that keep all slices
	for _, s := range p.Shares {
		apart[s.Memory] = true
	}
	for _, b := range p.Buffers {
		if b.In != "" {
			apart[b.Name], apart[b.In] = true, true
		}
	}
	offsets, values, kept := offsetsOf(p), p.Values(), map[string]bool{}
	var uses *order.Uses
	for _, life := range order.Lifetimes(p) {
		b := life.Buffer
		slice := sliceOf(b, offsets[b.Name])
		if life.Output || apart[b.Name] || slice == nil {
			continue
		}
		if uses == nil {
			uses = order.UsesOf(p)
		}
		if elements, ok := values.Eval(slice); ok && uses.SliceBySlice(b, elements*b.Type.Size()) {
			keepOne(b, slice)
			kept[b.Name] = true
		}
	}
	if len(kept) > 0 {
		dropSliceOffsets(p, kept)
	}
}

// offsetsOf lists the offsets of pointers into each buffer. It omits a buffer if a pointer to it has no offset, because
// that pointer may use the whole buffer.
func offsetsOf(p *calls.Program) map[string][]expr.Expr {
	offsets := map[string][]expr.Expr{}
	calls.RewriteAll(p.Body, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		offsets[at.Base] = append(offsets[at.Base], at.Offset)
		return at
	}})
	for name, list := range offsets {
		if slices.Contains(list, nil) {
			delete(offsets, name)
		}
	}
	return offsets
}

// sliceOf returns the number of elements of a slice of a buffer: the product of the last factors of the buffer's
// elements. Every offset has to be an index times these factors. It returns nil if the offsets do not have this form.
func sliceOf(b *calls.Buffer, offsets []expr.Expr) expr.Expr {
	if len(offsets) == 0 {
		return nil
	}
	whole := factors(b.Elements)
	own := factors(offsets[0])
	if len(own) < 2 || len(own) > len(whole) {
		return nil
	}
	slice := whole[len(whole)-len(own)+1:]
	for _, offset := range offsets {
		list := factors(offset)
		if len(list) != len(own) || !slices.EqualFunc(list[1:], slice, func(a, b expr.Expr) bool { return a.String() == b.String() }) {
			return nil
		}
	}
	product := slice[0]
	for _, factor := range slice[1:] {
		product = expr.Op("*", product, factor)
	}
	return product
}

// factors lists the factors of a product that is grouped from the left, as in (a * b) * c.
func factors(e expr.Expr) []expr.Expr {
	if product, ok := e.(*expr.Binary); ok && product.Op == "*" {
		return append(factors(product.X), product.Y)
	}
	return []expr.Expr{e}
}

// keepOne gives a buffer the elements and the shape of one slice.
func keepOne(b *calls.Buffer, slice expr.Expr) {
	whole := factors(b.Elements)
	for _, count := range whole[:len(whole)-len(factors(slice))] {
		for i, extent := range b.Shape {
			if extent.String() == count.String() {
				b.Shape[i] = expr.Int(1)
				break
			}
		}
	}
	b.Elements = slice
}

// dropSliceOffsets removes the offsets of pointers to the kept buffers, so that they point to the first slice.
func dropSliceOffsets(p *calls.Program, kept map[string]bool) {
	calls.RewriteAll(p.Body, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		if kept[at.Base] {
			at.Offset = nil
		}
		return at
	}})
}
