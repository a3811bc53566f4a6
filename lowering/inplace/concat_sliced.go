package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A pipeline may slice a tensor before it reshapes and permutes it to the operand of a concat:
//
//	V_s = Select(V, axis 0, index s); U_s = Reshape(V_s); C_s = Select(C, axis 0, index s); C_s = Concat(U_s, ...)
//
// The inverse is then applied to all slices at once, from the result back to V:
//
//	U_s_whole = Slice(C, ...); V = Reshape(U_s_whole)

// sliced is an operand of a concat in a pipeline that first takes the slice of the iteration, and then reshapes or
// permutes the slice.
type sliced struct {
	*operand
	views []hostir.Stmt    // reshapes and permutes between the slice and the operand, the one that makes the operand first
	cut   *hostir.Select   // takes the slice of the operand
	from  *hostir.Select   // takes the slice of the result
	made  []*hostir.Tensor // the tensors that turn declares
}

// turn makes l.cut.In, the tensor of all slices, a view of the result by calling set. It returns false if that is not
// possible.
func (l *sliced) turn(c *concats, set func(*hostir.Tensor, hostir.Stmt)) bool {
	at, first := l.from.Axis, l.slice(c)
	if first == nil {
		return false
	}
	t := first
	for i, s := range l.views {
		in := hostir.Uses(s)[0]
		to := l.cut.Axis
		_, reshapes := s.(*hostir.Reshape)
		last := i == len(l.views)-1
		if !last {
			to = behind(t.Axes[:at], in.Axes)
		}
		if to < 0 || !plainAxes(in) || !reshapes && !last || reshapes && elements(t.Axes[:at]) != elements(in.Axes[:to]) {
			return false
		}
		next := l.cut.In
		if !last {
			next = l.together(c, in, to, l.cut.In.Axes[l.cut.Axis])
		}
		of := l.all(s, next, t, at, to)
		if last {
			set(next, of)
		} else {
			next.Of = of
		}
		t, at = next, to
	}
	return len(l.views) > 0
}

// slice declares the part of the result that consists of all slices of the operand. It returns nil if a tensor has
// reduced axes, or if the numbers of slices differ.
func (l *sliced) slice(c *concats) *hostir.Tensor {
	in := l.whole
	if !plainAxes(in) || !plainAxes(l.result) || !plainAxes(l.cut.In) ||
		l.cut.In.Axes[l.cut.Axis].LocalSize() != l.result.Axes[l.from.Axis].LocalSize() {
		return nil
	}
	t := l.together(c, in, l.from.Axis, l.result.Axes[l.from.Axis])
	t.Of = l.sliceOf(t)
	return t
}

// together declares a tensor of all slices, with an additional axis at position at.
func (l *sliced) together(c *concats, slice *hostir.Tensor, at int, axis domain.Axis) *hostir.Tensor {
	t := c.names.Like(slice, "_whole")
	t.Role, t.Axes, t.Layout = hostir.View, slices.Insert(t.Axes, at, axis), nil
	t.Layout = hostir.Layout(t)
	l.made = append(l.made, t)
	return t
}

// all inverts a statement on one slice for all slices at once: from t, where the slices are along axis at, to out,
// where they are along axis to.
func (l *sliced) all(s hostir.Stmt, out, t *hostir.Tensor, at, to int) hostir.Stmt {
	info := hostir.InfoFrom(s, "")
	p, permutes := s.(*hostir.Permute)
	if !permutes {
		return &hostir.Reshape{Info: info, Out: out, In: t}
	}
	perm := inverse(p.Perm)
	for i, axis := range perm {
		if axis >= at {
			perm[i]++
		}
	}
	return &hostir.Permute{Info: info, Out: out, In: t, Perm: slices.Insert(perm, to, at)}
}

// plainAxes reports whether a tensor has no reduced axes.
func plainAxes(t *hostir.Tensor) bool { return len(hostir.Live(t)) == len(t.Axes) }

// behind returns the first position in axes that has as many elements before it as front has, or -1.
func behind(front, axes []domain.Axis) int {
	for i := range len(axes) + 1 {
		if elements(axes[:i]) == elements(front) {
			return i
		}
	}
	return -1
}

func elements(axes []domain.Axis) int64 {
	n := int64(1)
	for _, a := range axes {
		n *= a.Size
	}
	return n
}
