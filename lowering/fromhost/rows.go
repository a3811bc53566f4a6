package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A rowOperand is a result or an operand of a fused kernel. For positions that the kernel counts, it has no pointer.
type rowOperand struct {
	at  calls.Pointer
	typ string
}

// rowsWalk is a walk over the rows of several tensors (outer), and over the columns of each row (row). ofBlocks says which
// results have one element for each block of size columns.
type rowsWalk struct {
	outer, row walk
	ofBlocks   []bool
	size       int64
}

// block returns the number of columns that share an element of operand v, or 0.
func (w rowsWalk) block(v int) int64 {
	if v < len(w.ofBlocks) && w.ofBlocks[v] {
		return w.size
	}
	return 0
}

// add appends an operand, with its strides along the axes of the rows and its stride along the columns.
func (w *rowsWalk) add(outer []extents.Quantity, step extents.Quantity) {
	w.outer.strides, w.row.strides = append(w.outer.strides, outer), append(w.row.strides, []extents.Quantity{step})
}

// split converts a walk to a rowsWalk: the given axis, which must be the last, becomes the columns, and the axes before
// it the rows.
func (w walk) split(axis int) rowsWalk {
	rows := rowsWalk{outer: walk{extents: w.extents[:axis]}, row: walk{extents: w.extents[axis:]}}
	for _, strides := range w.strides {
		rows.add(strides[:axis], strides[axis])
	}
	return rows
}

func (w rowsWalk) columns() extents.Quantity { return w.row.extents[0] }

// rows returns the number of rows. It requires that the rows have at most one axis.
func (w rowsWalk) rows() extents.Quantity {
	if len(w.outer.extents) == 0 {
		return extents.Number(1)
	}
	return w.outer.extents[0]
}

// dense reports whether the rows have at most one axis, and denseUse can index each operand.
func (w rowsWalk) dense() bool {
	return len(w.outer.extents) <= 1 && !slices.Contains(w.uses(rowsWalk.denseUse), "")
}

func (w rowsWalk) uses(of func(w rowsWalk, v int) string) []string {
	list := make([]string, len(w.row.strides))
	for v := range list {
		list[v] = of(w, v)
	}
	return list
}

// denseUse returns how a kernel without strides indexes operand v by row and column; empty if the operand needs
// strides.
func (w rowsWalk) denseUse(v int) string {
	step, next := w.row.strides[v][0].Size, int64(1)
	switch {
	case len(w.outer.extents) == 1:
		next = w.outer.strides[v][0].Size
	case step == 1:
		next = w.columns().Size // there is one row
	}
	switch block := w.block(v); {
	case block > 0 && step == 1 && (len(w.outer.extents) == 0 || next*block == w.columns().Size):
		return calls.ForBlock
	case block > 0:
		return ""
	case step == 1 && next == w.columns().Size:
		return calls.ForElement
	case step == 1 && next == 0:
		return calls.ForColumn
	case step == 0 && next == 1:
		return calls.ForRow
	}
	return ""
}

// use returns how a kernel with strides indexes operand v by row and column.
func (w rowsWalk) use(v int) string {
	moves := func(q extents.Quantity) bool { return q.Size != 0 }
	switch {
	case w.block(v) > 0:
		return calls.ForBlock
	case !w.columns().IsOne() && !moves(w.row.strides[v][0]):
		return calls.ForRow
	case v > 0 && len(w.outer.extents) > 0 && !slices.ContainsFunc(w.outer.strides[v], moves):
		return calls.ForColumn
	}
	return calls.ForElement
}

// columnsOf lists the result and the operands of a kernel that folds columns, with a walk over their rows and columns.
func (b *builder) columnsOf(s *hostir.Fused) (operands []rowOperand, w rowsWalk) {
	buffers := b.operandBuffers(s, slices.Concat(s.Out, s.In)...)
	rows, columns, none := extents.Number(1), extents.Number(s.Columns()), extents.Number(0)
	add := func(u *buffer, row, step extents.Quantity) {
		operands = append(operands, rowOperand{b.pointer(u), string(u.typ)})
		w.add([]extents.Quantity{row}, step)
	}
	result := none
	if out := buffers[0]; len(out.dims) > 0 {
		result = last(out.dims).stride
	}
	add(buffers[0], none, result)
	for i, wide := range s.HasRows() {
		u, row, step := buffers[1+i], none, none
		if wide && len(u.dims) > 0 {
			step, columns = last(u.dims).stride, last(u.dims).extent
		}
		for _, d := range u.dims {
			if d.axis == hostir.RowAxis(s.In[i]) && !d.extent.IsOne() {
				row, rows = d.stride, d.extent
			}
		}
		add(u, row, step)
	}
	w.outer.extents, w.row.extents = []extents.Quantity{rows}, []extents.Quantity{columns}
	w.outer = w.outer.joined()
	return operands, w
}
