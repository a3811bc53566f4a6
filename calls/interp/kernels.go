package interp

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/model/domain"
)

// launch returns a function that runs a kernel of the program or of the runtime. An unknown function is an error.
func (r *rank) launch(s *calls.Launch, v views) (func() error, error) {
	if k := r.machine.program.Kernel(s); k != nil {
		return fused(k, v), nil
	}
	if s.Kernel == calls.TopK {
		return topK(v), nil
	}
	element, err := r.element(s, v[1], v[2])
	if s.Kernel == "gather" {
		element, err = gathered(v), nil
	}
	out := v[effects.Out]
	round := out.dtype.Round
	if v[1].dtype != out.dtype {
		round = out.dtype.Convert
	}
	return func() error {
		each(out.extents, func(index []int64) { out.set(index, round(element(index))) })
		return nil
	}, err
}

// element returns a function that computes one element of the result of a runtime kernel other than gather and top_k.
func (r *rank) element(s *calls.Launch, in, other view) (func(index []int64) float64, error) {
	binary, unary := domain.BinaryFn(s.Fn), domain.UnaryFn(s.Fn)
	if s.Fn == "copy" {
		unary = func(v float64) float64 { return v }
	}
	switch {
	case s.Kernel == "positions":
		first, err := r.eval(s, s.First)
		return func(index []int64) float64 { return float64(first + index[0]) }, err
	case s.Kernel == "reduce" && binary != nil:
		count, step := in.extents[s.Axis], in.strides[s.Axis]
		return func(index []int64) float64 {
			at := in.offset(index)
			value := in.data[at]
			for i := int64(1); i < count; i++ {
				value = float64(float32(binary(value, in.data[at+i*step])))
			}
			return value
		}, nil
	case s.Kernel == "binary" && binary != nil:
		return func(index []int64) float64 { return binary(in.get(index...), other.get(index...)) }, nil
	case s.Kernel == "unary" && unary != nil:
		return func(index []int64) float64 { return unary(in.get(index...)) }, nil
	default:
		return nil, r.fail(s, "there is no function %q", s.Fn)
	}
}

// topK returns a function that selects the largest elements of each row, with their positions.
func topK(v views) func() error {
	values, positions, in := v[effects.Out], v[1], v[2]
	last := len(in.extents) - 1
	return func() error {
		each(in.extents[:last], func(index []int64) {
			made, at := domain.Singles.TopK(in.row(index, in.extents[last]), int(values.extents[last]))
			values.setRow(index, made)
			positions.setRow(index, at)
		})
		return nil
	}
}

// gathered returns a function that computes one element of a gather. It is 0 for a row outside of the table.
func gathered(v views) func(index []int64) float64 {
	table, first := v[1], v[3]
	return func(index []int64) float64 {
		row := v[2].get(index...)
		if first.data != nil {
			row -= first.get(index...)
		}
		if row >= 0 && row < float64(table.extents[0]) {
			return table.data[table.offset(index)+int64(row)*table.strides[0]]
		}
		return 0 * row // NaN if the row number is still NaN
	}
}

// fused returns a function that runs a kernel of the program, row by row.
func fused(k *calls.Kernel, v views) func() error {
	body, names, extents := k.Steps(), k.Operands[:k.Results], slices.Clone(v[effects.Out].extents)
	for _, o := range v { // a result may have one element for each row, or for each column
		for axis, n := range o.extents {
			extents[axis] = max(extents[axis], n)
		}
	}
	last := len(extents) - 1
	columns := extents[last]
	rowsOf := func(index []int64) (rows [][]float64) {
		for n := len(names); n < len(v); n++ {
			rows = append(rows, v[int16(n)].row(index, columns))
		}
		return body.Row(rows, columns, nil)
	}
	if _, folds := body.FoldsColumns(); folds {
		return func() error {
			var folded []float64
			each(extents[:last], func(index []int64) {
				values := rowsOf(index)
				folded = body.FoldIn(domain.Singles, folded, values[len(values)-1])
			})
			v[effects.Out].setRow(make([]int64, last), folded)
			return nil
		}
	}
	made := make([]int, len(names)) // index of each result's value
	for i, name := range names {
		made[i] = len(v) - len(names) + slices.IndexFunc(body, func(step domain.Step) bool { return step.Name == name })
	}
	return func() error {
		each(extents[:last], func(index []int64) {
			values := rowsOf(index)
			for i := range names {
				v[int16(i)].setRow(index, values[made[i]])
			}
		})
		return nil
	}
}

// row returns the values of a row. If all columns are the same element (stride 0), it returns that element once. In a
// view without memory (calls.InPositions), the value of an element is its offset.
func (v view) row(index []int64, columns int64) []float64 {
	at, step, row := v.offset(index), v.strides[len(index)], []float64{}
	for c := int64(0); c < columns && (c == 0 || step != 0); c++ {
		if v.data == nil {
			row = append(row, float64(at+c*step))
		} else {
			row = append(row, v.data[at+c*step])
		}
	}
	return row
}

// setRow stores a row in the columns that the view has. A single value is stored in all of them.
func (v view) setRow(index []int64, values []float64) {
	for c := range v.extents[len(index)] {
		v.set(append(slices.Clone(index), c), v.dtype.Convert(domain.Stored(values, c, v.extents[len(index)])))
	}
}
