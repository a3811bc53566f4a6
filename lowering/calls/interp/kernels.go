package interp

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// view is an operand of a kernel.
type view struct {
	place
	extents, strides []int64
}

// view resolves an operand.
func (r *rank) view(s *calls.Launch, o calls.Operand) (view, error) {
	at, err := r.at(s, o.At)
	if err != nil {
		return view{}, err
	}
	v := view{place: at}
	extents, strides := o.Extents, o.Strides
	if s.Elements != nil {
		extents, strides = []expr.Expr{s.Elements}, []expr.Expr{expr.Int(1)}
	}
	last := int64(0)
	if v.extents, err = r.numbers(s, extents); err != nil {
		return v, err
	}
	if v.strides, err = r.numbers(s, strides); err != nil {
		return v, err
	}
	for i, extent := range v.extents {
		last += (extent - 1) * v.strides[i]
	}
	_, err = r.run(s, at, last+1)
	return v, err
}

// launch returns the work of an elementwise kernel or a reduction.
func (r *rank) launch(s *calls.Launch) (func() error, error) {
	if k := r.machine.program.Kernel(s); k != nil {
		return r.fused(s, k)
	}
	out, err := r.view(s, s.Out)
	if err != nil {
		return nil, err
	}
	in := make([]view, len(s.In))
	for i, o := range s.In {
		if in[i], err = r.view(s, o); err != nil {
			return nil, err
		}
	}
	element, err := r.element(s, in)
	if err != nil {
		return nil, err
	}
	return func() error {
		each(out.extents, func(index []int64) {
			out.data[out.offset(index)] = s.OutType.Round(element(index))
		})
		return nil
	}, nil
}

// element computes one element of the result.
func (r *rank) element(s *calls.Launch, in []view) (func(index []int64) float64, error) {
	binary, unary := domain.BinaryFns[s.Fn], domain.UnaryFn(s.Fn)
	if s.Fn == "copy" {
		unary = func(v float64) float64 { return v }
	}
	switch {
	case s.Kernel == "positions":
		first, err := r.eval(s, s.First)
		return func(index []int64) float64 { return float64(first + index[0]) }, err
	case s.Kernel == "reduce" && binary != nil:
		count, step := in[0].extents[s.Axis], in[0].strides[s.Axis]
		return func(index []int64) float64 {
			at := in[0].offset(index)
			value := in[0].data[at]
			for i := int64(1); i < count; i++ {
				value = float64(float32(binary(value, in[0].data[at+i*step])))
			}
			return value
		}, nil
	case s.Kernel == "binary" && binary != nil:
		return func(index []int64) float64 {
			return binary(in[0].data[in[0].offset(index)], in[1].data[in[1].offset(index)])
		}, nil
	case s.Kernel == "unary" && unary != nil:
		return func(index []int64) float64 { return unary(in[0].data[in[0].offset(index)]) }, nil
	default:
		return nil, r.fail(s, "there is no function %q", s.Fn)
	}
}

// offset returns the index of an element in the data.
func (v view) offset(index []int64) int64 {
	at := v.at
	for i, n := range index {
		at += n * v.strides[i]
	}
	return at
}

// each visits the indices of a shape, row-major.
func each(extents []int64, visit func(index []int64)) {
	index := make([]int64, len(extents))
	for {
		visit(index)
		axis := len(extents) - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < extents[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
