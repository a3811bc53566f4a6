package interp

import (
	"github.com/hirgen/hirgen/lowering/calls"
)

// rowsView is an operand of a kernel of the program's own: where its rows start, and how far apart
// its columns are; 0: one element stands for all of them.
type rowsView struct {
	view
	step int64
}

// fused is the work of such a kernel, row by row.
func (r *rank) fused(s *calls.Launch, k *calls.Kernel) (func() error, error) {
	operands := make([]rowsView, 1+len(s.In))
	for i, o := range append([]calls.Operand{s.Out}, s.In...) {
		use := append([]string{k.OutUse}, k.Uses...)[i]
		var err error
		if operands[i], err = r.rows(s, k, o, use); err != nil {
			return nil, err
		}
	}
	out, body := operands[0], k.Steps()
	columns := k.Columns
	switch {
	case k.Views:
		columns, _ = r.eval(s, s.Out.Extents[len(s.Out.Extents)-1])
	case columns == 0:
		columns, _ = r.eval(s, s.Elements)
	}
	return func() error {
		each(out.extents, func(index []int64) {
			rows := make([][]float64, len(s.In))
			for i, in := range operands[1:] {
				at := in.offset(index)
				rows[i] = []float64{in.data[at]}
				for c := int64(1); c < columns && in.step != 0; c++ {
					rows[i] = append(rows[i], in.data[at+c*in.step])
				}
			}
			at := out.offset(index)
			for c, value := range body.Row(rows) {
				out.data[at+int64(c)*out.step] = k.OutType.Round(value)
			}
		})
		return nil
	}, nil
}

// rows resolves an operand.
func (r *rank) rows(s *calls.Launch, k *calls.Kernel, o calls.Operand, use string) (v rowsView, err error) {
	if k.Views {
		if v.view, err = r.view(s, o); err == nil {
			last := len(v.extents) - 1
			v.step = v.strides[last]
			v.extents, v.strides = v.extents[:last], v.strides[:last]
		}
		return v, err
	}
	count, err := r.eval(s, s.Elements)
	if err != nil {
		return v, err
	}
	v.extents, v.strides, v.step = []int64{count}, []int64{k.Columns}, 1
	elements := count * k.Columns
	switch {
	case k.Columns == 0:
		v.extents, elements = []int64{1}, count
	case use == calls.ForColumn:
		v.strides, elements = []int64{0}, k.Columns
	case use == calls.ForRow:
		v.strides, v.step, elements = []int64{1}, 0, count
	}
	if v.place, err = r.at(s, o.At); err == nil {
		_, err = r.run(s, v.place, elements)
	}
	return v, err
}
