package values

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/prove/unroll"
)

// launch runs a kernel of the runtime or of the program.
func (m *machine) launch(o *unroll.Op, views operands) {
	s, _ := m.p.Stmts[o.Stmt].(*calls.Launch)
	if k := m.p.Calls.Kernel(s); k != nil {
		m.fused(o, s, k, views)
		return
	}
	out := views[0]
	unary, binary := m.f.unary(s.Fn), m.f.binary(s.Fn)
	var made []float64
	switch {
	case s.Kernel == "positions":
		for i := range out.extents[0] {
			made = append(made, float64(int64(o.Arg)+i))
		}
	case s.Fn == "copy":
		made = views[1].like(out.extents).read()
	case s.Kernel == "unary" && unary != nil:
		for _, v := range views[1].like(out.extents).read() {
			made = append(made, unary(v))
		}
	case s.Kernel == "binary" && binary != nil:
		other := views[2].like(out.extents).read()
		for i, v := range views[1].like(out.extents).read() {
			made = append(made, binary(v, other[i]))
		}
	case s.Kernel == "gather":
		made = m.gathered(views)
	case s.Kernel == calls.TopK:
		made = m.topK(views[1], views[2], out.extents[len(out.extents)-1], o.Stmt)
	case s.Kernel == "reduce" && binary != nil:
		made = reduced(binary, views[1], int(s.Axis))
	default:
		m.fail(o.Stmt, "there is no function %q", s.Fn)
		return
	}
	out.write(made, o.Stmt)
}

// reduced reduces an axis of a view, and returns the results row-major.
func reduced(fn func(a, b float64) float64, in view, axis int) (made []float64) {
	first := in.like(slices.Clone(in.extents))
	count := first.extents[axis]
	first.extents[axis] = 1
	first.each(func(at int64) {
		value := in.data[at]
		for i := int64(1); i < count; i++ {
			value = fn(value, in.data[at+i*in.strides[axis]*in.width])
		}
		made = append(made, value)
	})
	return made
}

// topK writes the positions of the largest k elements of each row, and returns the elements.
func (m *machine) topK(positions, in view, k int64, stmt int32) (values []float64) {
	columns := in.extents[len(in.extents)-1]
	var all []float64
	for rows := in.read(); len(rows) > 0; rows = rows[columns:] {
		made, at := m.f.arithmetic().TopK(rows[:columns], int(k))
		values, all = append(values, made...), append(all, at...)
	}
	positions.write(all, stmt)
	return values
}

// gathered computes a gather as a product (see picks): it adds up the rows of a table, each times the factor for its
// number and the id.
func (m *machine) gathered(views operands) (made []float64) {
	extents := views[0].extents
	ids, first, table := views[2].like(extents).read(), make([]float64, views[0].elements()), views[1]
	if from, ok := views[3]; ok {
		first = from.like(extents).read()
	}
	table.like(extents).each(func(at int64) {
		sum, i := []float64{0}, len(made)
		for row := range table.extents[0] {
			addProducts(sum, m.f.picks(ids[i], first[i]+float64(row)), table.data[at+row*table.strides[0]*table.width:][:1])
		}
		made = append(made, sum[0])
	})
	return made
}

// fused runs a kernel of the program, row by row.
func (m *machine) fused(o *unroll.Op, s *calls.Launch, k *calls.Kernel, views operands) {
	body := k.Steps()
	extents := slices.Clone(views[0].extents)
	last := len(extents) - 1
	for _, v := range views { // a result may have one element for each row, or for each column
		for axis, n := range v.extents {
			extents[axis] = max(extents[axis], n)
		}
	}
	columns := extents[last]
	rows := int64(1)
	for _, n := range extents[:last] {
		rows *= n
	}
	var in [][]float64
	for n := int(k.Results); n < len(k.Operands); n++ {
		if k.Types[n] == calls.InPositions {
			in = append(in, m.positions(s, n, extents))
		} else {
			in = append(in, views[int16(n)].like(extents).read())
		}
	}
	results := make([][]float64, k.Results)
	_, folds := body.FoldsColumns()
	for row := range rows {
		operands := make([][]float64, len(in))
		for i, data := range in {
			operands[i] = part(data, row, columns)
			if use := k.Uses[int(k.Results)+i]; use == calls.ForRow || use == calls.ForAll {
				operands[i] = operands[i][:1]
			}
		}
		values := body.RowIn(m.f.arithmetic(), operands, columns, nil)
		if folds {
			results[0] = body.FoldIn(m.f.arithmetic(), results[0], values[len(values)-1])
			continue
		}
		for i := range results {
			at := slices.IndexFunc(body, func(step domain.Step) bool { return step.Name == k.Operands[i] })
			if at < 0 {
				m.fail(o.Stmt, "kernel %s does not make %s", k.Name, k.Operands[i])
				return
			}
			made := values[len(in)+at]
			for c := range views[int16(i)].extents[last] {
				results[i] = append(results[i], domain.Stored(made, c, views[int16(i)].extents[last]))
			}
		}
	}
	for i, made := range results {
		views[int16(i)].write(made, o.Stmt)
	}
}

// positions returns an operand without memory: each element is its own offset.
func (m *machine) positions(s *calls.Launch, operand int, extents []int64) []float64 {
	v := view{width: 1, extents: extents, strides: make([]int64, len(extents))}
	table, _ := effects.New(m.p.Calls).Of(s)
	values := m.p.Calls.Values()
	for i, stride := range table[operand].Strides {
		v.strides[i], _ = values.Eval(stride)
	}
	var list []float64
	v.each(func(at int64) { list = append(list, float64(at)) })
	return list
}
