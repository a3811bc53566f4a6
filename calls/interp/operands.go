package interp

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// view is an operand of a statement. Its strides are in elements.
type view struct {
	place            // its first element; without data, the operand has no memory
	dtype            domain.DType
	extents, strides []int64
}

// views are the operands of a statement, by number.
type views map[int16]view

// operands resolves the operands of a statement. It is an error if an operand is outside of its memory, or has a
// smaller alignment than the statement needs.
func (r *rank) operands(s calls.Stmt) (views, error) {
	list, err := r.machine.effects.Of(s)
	if err != nil {
		return nil, r.fail(s, "%v", err)
	}
	of := views{}
	for _, o := range list {
		v := view{dtype: o.Type}
		if v.place, err = r.at(s, o.At); err != nil {
			return nil, err
		}
		if v.extents, err = r.numbers(s, o.Extents); err != nil {
			return nil, err
		}
		if v.strides, err = r.numbers(s, o.Strides); err != nil {
			return nil, err
		}
		if o.Rest {
			v.extents, v.strides = []int64{int64(len(v.data)) - v.at}, []int64{1}
		}
		if of[o.Number] = v; o.Type == calls.InPositions {
			continue
		}
		if _, err = r.run(s, v.place, v.span()); err != nil {
			return nil, err
		}
		if bytes := align.PowerOf(v.at * o.Type.Size()); bytes < o.Align {
			return nil, r.fail(s, "%s is aligned to %d bytes, and has to be to %d", o.At, bytes, o.Align)
		}
	}
	return of, nil
}

func (r *rank) numbers(s calls.Stmt, list []expr.Expr) (values []int64, err error) {
	for _, e := range list {
		value, err := r.eval(s, e)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// span returns the number of elements from the first to the last of the view, both included.
func (v view) span() int64 {
	last := int64(0)
	for i, extent := range v.extents {
		last += (extent - 1) * v.strides[i]
	}
	return last + 1
}

// all returns the elements of a contiguous view.
func (v view) all() []float64 { return v.data[v.at:][:v.span()] }

// get returns the element at an index.
func (v view) get(index ...int64) float64 { return v.data[v.offset(index)] }

// set rounds and stores an element.
func (v view) set(index []int64, value float64) { v.data[v.offset(index)] = v.dtype.Round(value) }

// offset returns the index of an element in the data. If index is shorter than the shape, its missing last numbers
// count as 0.
func (v view) offset(index []int64) int64 {
	at := v.at
	for i, n := range index {
		at += n * v.strides[i]
	}
	return at
}

// each visits the indices of a shape, row-major. All extents have to be positive.
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
