package interp

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// rowsView is an operand of a kernel of the program: the starts of its rows, and the distance between its columns. Step 0
// means that a row has one element for all columns.
type rowsView struct {
	view
	step int64
}

// fused returns the work of such a kernel, row by row.
func (r *rank) fused(s *calls.Launch, k *calls.Kernel) (func() error, error) {
	columns := k.Columns
	if columns == 0 {
		columns, _ = r.eval(s, s.Elements)
	}
	operands := make([]rowsView, 1+len(s.In))
	for i, o := range append([]calls.Operand{s.Out}, s.In...) {
		var err error
		if operands[i], err = r.rows(s, k, o, k.Uses[i], columns); err != nil {
			return nil, err
		}
	}
	results, body := operands[:k.Results], k.Steps()
	if _, folds := body.FoldsColumns(); folds {
		return foldedColumns(k, body, operands, columns), nil
	}
	made := make([]int, len(results)) // index of each result's value
	for i := range results {
		named := func(step domain.Step) bool { return step.Name == k.Operands[i] }
		made[i] = len(operands) - len(results) + slices.IndexFunc(body, named)
	}
	return func() error {
		each(results[0].extents, func(index []int64) {
			rows := make([][]float64, 0, len(operands))
			for _, in := range operands[k.Results:] {
				rows = append(rows, in.row(index, columns))
			}
			values := body.Row(rows, columns, nil)
			for i, out := range results {
				at := out.offset(index)
				for c := range columns {
					value := values[made[i]][min(int(c), len(values[made[i]])-1)]
					out.data[at+c*out.step] = domain.DType(k.Types[i]).Round(value)
				}
			}
		})
		return nil
	}, nil
}

// foldedColumns returns the work of a kernel that folds columns: it visits all rows, one after the other.
func foldedColumns(k *calls.Kernel, body domain.Body, operands []rowsView, columns int64) func() error {
	return func() error {
		out := operands[0]
		var folded []float64
		each(out.extents, func(index []int64) {
			rows := make([][]float64, 0, len(operands))
			for _, in := range operands[1:] {
				rows = append(rows, in.row(index, columns))
			}
			values := body.Row(rows, columns, nil)
			folded = body.FoldIn(domain.Singles, folded, values[len(values)-1])
		})
		at := out.offset(make([]int64, len(out.extents)))
		for c, value := range folded {
			out.data[at+int64(c)*out.step] = domain.DType(k.Types[0]).Round(value)
		}
		return nil
	}
}

// row reads a row. An element of positions is its offset.
func (v rowsView) row(index []int64, columns int64) []float64 {
	at, row := v.offset(index), []float64{}
	for c := int64(0); c < columns && (c == 0 || v.step != 0); c++ {
		if v.data == nil {
			row = append(row, float64(at+c*v.step))
		} else {
			row = append(row, v.data[at+c*v.step])
		}
	}
	return row
}

// rows resolves an operand.
func (r *rank) rows(s *calls.Launch, k *calls.Kernel, o calls.Operand, use string, columns int64) (v rowsView, err error) {
	if k.Views {
		var extents, strides []int64
		if extents, err = r.numbers(s, s.Out.Extents); err != nil {
			return v, err
		}
		if strides, err = r.numbers(s, o.Strides); err != nil {
			return v, err
		}
		v.extents, v.strides, v.step = extents, strides[:len(extents)], strides[len(extents)]
		if use == calls.ForRow {
			v.step = 0
		}
	} else {
		count := int64(1)
		if k.Columns > 0 {
			if count, err = r.eval(s, s.Elements); err != nil {
				return v, err
			}
		}
		v.extents = []int64{count}
		switch use {
		case calls.ForElement:
			v.strides, v.step = []int64{columns}, 1
		case calls.ForColumn:
			v.strides, v.step = []int64{0}, 1
		default:
			v.strides, v.step = []int64{1}, 0
		}
	}
	if v.place, err = r.at(s, o.At); err != nil || o.At.Base == "" {
		return v, err
	}
	last := (columns - 1) * v.step
	for i, extent := range v.extents {
		last += (extent - 1) * v.strides[i]
	}
	_, err = r.run(s, v.place, last+1)
	return v, err
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
