package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// turn makes the operand a view of the result, and its buffer a view of the operand, and reports whether it can. undo
// reverts the changes.
func (o *operand) turn(c *concats) (turned bool, undo func()) {
	type was struct {
		t    *hostir.Tensor
		of   hostir.Stmt
		role hostir.Role
	}
	var before []was
	set := func(t *hostir.Tensor, of hostir.Stmt) {
		before = append(before, was{t, t.Of, t.Role})
		t.Of, t.Role = of, hostir.View
	}
	undo = func() {
		for _, w := range before {
			w.t.Of, w.t.Role = w.of, w.role
		}
	}
	if o.slice == nil {
		set(o.whole, o.sliceOf(o.whole))
	} else if !o.slice.turn(c, set) {
		return false, undo
	}
	for _, s := range o.views {
		set(hostir.Uses(s)[0], reversed(s))
	}
	return true, undo
}

// sliceOf returns the Slice that makes a tensor the operand's part of the result.
func (o *operand) sliceOf(t *hostir.Tensor) *hostir.Slice {
	info := hostir.InfoFrom(o.stmt, "computed in place, as a slice of "+o.result.Name)
	return &hostir.Slice{Info: info, Out: t, In: o.result, Axis: hostir.Live(o.result)[o.axis], Start: o.start(o.number)}
}

// reversed returns the view that makes the operand of a reshape or a permute from its result.
func reversed(s hostir.Stmt) hostir.Stmt {
	info := hostir.InfoFrom(s, "")
	if p, permutes := s.(*hostir.Permute); permutes {
		return &hostir.Permute{Info: info, Out: p.In, In: p.Out, Perm: inverse(p.Perm)}
	}
	return &hostir.Reshape{Info: info, Out: hostir.Uses(s)[0], In: hostir.Result(s)}
}

// inverse returns the inverse of a permutation.
func inverse(perm []int) []int {
	back := make([]int, len(perm))
	for i, axis := range perm {
		back[axis] = i
	}
	return back
}

// start returns the index where an operand begins along the axis of the concat.
func (j *joined) start(number int) domain.Extent {
	at := slices.Index(hostir.Live(j.out), j.axis)
	sum, size := expr.Expr(nil), int64(0)
	for _, t := range j.in[:number] {
		extent := t.Axes[hostir.Live(t)[at]].Extent
		sum, size = expr.Sum(sum, extent.Expr()), size+extent.Size
	}
	if sum == nil {
		return domain.Extent{}
	}
	if folded := expr.Fold(sum); folded != expr.Expr(expr.Int(size)) {
		return domain.Extent{Text: expr.Compact(folded), Size: size}
	}
	return domain.Extent{Size: size}
}

// mostAxes is the largest number of axes of a non-contiguous tensor that kernels support.
const mostAxes = 8

// lies reports whether the buffer, as a view of the result, keeps the order of its elements in memory, except for gaps
// between runs of elements. It must not have more axes than kernels support.
func (o *operand) lies() bool {
	w, err := hostir.WindowOf(o.buffer, anywhere)
	if err != nil || w.Whole {
		return false
	}
	stride, axes := int64(0), 0
	for _, axis := range hostir.Layout(o.buffer) {
		if w.Size[axis] == 1 {
			continue
		}
		if axes++; axes > 1 && w.Stride[axis] >= stride {
			return false
		}
		stride = w.Stride[axis]
	}
	return stride == 1 && axes <= mostAxes
}

// anywhere replaces the values of indices by 0, because strides do not depend on them.
func anywhere(expr.Expr) (int64, error) { return 0, nil }

// hasNoStrides reports whether a view cannot be described by strides.
func hasNoStrides(t *hostir.Tensor) bool {
	w, err := hostir.WindowOf(t, anywhere)
	return err != nil || w.Whole
}
