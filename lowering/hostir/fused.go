package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// Fused computes Out from In with one kernel: element-wise operations, and reductions along rows or columns. A row runs
// along the last axis of the operands, which broadcast against each other as in NumPy. The first result usually has the
// shape of the operands. There are three exceptions. If Body reduces each row to one value, the result has no last
// axis, or one element there. If Body ends in a concat, the last axis contains all its parts. If Body ends in a
// reduction along columns, the result lacks the operands' second-to-last axis, which counts the rows. The axis numbers
// in steps that compute positions count from the last axis of the operands. The other tensors of Out get the values of
// steps that are results. They have the axes of the first result; if the step has one value for each row, they have one
// element in the last axis or lack it. If the step has one value for each block of columns, they have as many elements in
// the last axis as a row has blocks. All intermediate values are fp32, and a result is rounded once.
type Fused struct {
	Info
	Kernel string    // its name: "silu_mul"
	Out    []*Tensor `text:"="`
	In     []*Tensor
	Names  []string    // names of the operands in Body
	Body   domain.Body `json:"steps"`
}

// WideSteps reports, for each step of Body, whether it has an element for each column.
func (s *Fused) WideSteps() []bool { return s.Body.Rows(s.HasRows())[len(s.In):] }

// FoldsRows reports whether the first result has one value for each row of the operands.
func (s *Fused) FoldsRows() bool {
	rows := s.Body.Rows(s.HasRows())
	return !rows[len(rows)-1]
}

// FoldsColumns reports whether the first result has one value for each column of the operands.
func (s *Fused) FoldsColumns() bool {
	_, ok := s.Body.FoldsColumns()
	return ok
}

// RowAxis returns the axis of an operand that counts its rows: the second to last, without reduced axes. It returns
// Unmapped if t has fewer than two axes.
func RowAxis(t *Tensor) int {
	if live := Live(t); len(live) > 1 {
		return live[len(live)-2]
	}
	return Unmapped
}

// WithoutColumns returns a copy of a tensor without its last axis that is not reduced: the shape of a result with one value for each
// row.
func WithoutColumns(t *Tensor) *Tensor {
	rows, live := *t, Live(t)
	if len(live) > 0 {
		last := live[len(live)-1]
		rows.Axes = lists.Without(t.Axes, last)
	}
	return &rows
}

// Parts returns the number of parts that a concat joins in a row of Out; 1 without a concat.
func (s *Fused) Parts() int64 {
	if last := len(s.Body) - 1; last >= 0 && s.Body[last].Concats() {
		return int64(len(s.Body[last].Args))
	}
	return 1
}

// Along returns the axis of the first result that corresponds to an axis of the operands; Unmapped if there is none.
// back counts the operands' axes from 0 at the last one. Along is not for kernels that reduce along columns.
func (s *Fused) Along(back int) int {
	live := Live(s.Out[0])
	if len(live) < s.rank() {
		back-- // Out lacks the axis of the columns
	}
	if at := len(live) - 1 - back; at >= 0 && at < len(live) {
		return live[at]
	}
	return Unmapped
}

// WholeAxis returns the axis of the first result that the operands' columns correspond to, if Body needs all columns of a row at
// once. It returns Unmapped otherwise, and if the result has one value for each row.
func (s *Fused) WholeAxis() int {
	if s.Parts() > 1 || slices.ContainsFunc(s.Body, domain.Step.NeedsRow) && !s.FoldsRows() {
		return s.Along(0)
	}
	return Unmapped
}

// rank returns the largest number of axes that an operand has, without reduced axes.
func (s *Fused) rank() int {
	most := 0
	for _, t := range s.In {
		most = max(most, len(Live(t)))
	}
	return most
}

// fusedAxes returns the AxisMap of a Fused. An axis that Body reduces, or that a concat joins, is Unmapped.
func fusedAxes(s *Fused) [][]int {
	rows := make([][]int, len(s.In))
	for i, t := range s.In {
		switch {
		case s.Parts() > 1:
			rows[i] = besides(t, s.Out[0], Range{InAxis: Unmapped, OutAxis: s.Along(0)})
		case s.FoldsColumns():
			rows[i] = aligned(t, s.Out[0], 2, 1)
			mapLast(rows[i], t, s.Out[0], 1)
		case !s.FoldsRows():
			rows[i] = aligned(t, s.Out[0], 0, 0)
		case len(Live(s.Out[0])) < s.rank():
			rows[i] = aligned(t, s.Out[0], 1, 0)
		default:
			rows[i] = aligned(t, s.Out[0], 1, 1)
		}
	}
	return rows
}

// OfBlocks reports for each result whether it has one element for each block of columns that Body folds.
func (s *Fused) OfBlocks() []bool {
	of, blocks := make([]bool, len(s.Out)), s.Body.InBlocks(s.HasRows())
	for i, at := range s.Body.Results() {
		shape := LocalShape(s.Out[i])
		of[i] = i > 0 && blocks[at] && len(shape) > 0 && shape[len(shape)-1]*s.Body.Block() == s.Columns()
	}
	return of
}

// Columns returns the length of a row of the operands on one rank. If all operands have one column and Body counts columns, the
// first result determines the length.
func (s *Fused) Columns() int64 {
	most := int64(1)
	for _, t := range s.In {
		if shape := LocalShape(t); len(shape) > 0 {
			most = max(most, shape[len(shape)-1])
		}
	}
	if shape := LocalShape(s.Out[0]); most == 1 && len(shape) > 0 && s.countsColumns() {
		return shape[len(shape)-1] / s.Parts()
	}
	return most
}

// countsColumns reports whether Body has positions along the columns.
func (s *Fused) countsColumns() bool {
	return slices.ContainsFunc(s.Body, func(step domain.Step) bool { back, ok := step.Positions(); return ok && back == 0 })
}

// HasRows reports, for each operand, whether it has an element for each column. The others have at most one for each row. If rows
// have one column, all operands have an element for each column.
func (s *Fused) HasRows() []bool {
	rows := make([]bool, len(s.In))
	for i, t := range s.In {
		shape := LocalShape(t)
		rows[i] = s.Columns() == 1 || len(shape) > 0 && shape[len(shape)-1] > 1
	}
	return rows
}

// Spans reports whether an axis of the first result has one element, comes from an operand, or is a Serial axis along
// which the kernel counts positions or concatenates. Otherwise no operand determines how often the kernel computes the
// result along the axis.
func (s *Fused) Spans(axis int) bool {
	if a := s.Out[0].Axes[axis]; a.Size == 1 || a.Kind == domain.Serial && s.Counts(axis) {
		return true
	}
	for i, row := range AxisMap(s) {
		if at := slices.Index(row, axis); at >= 0 && s.In[i].Axes[at].Size > 1 {
			return true
		}
	}
	return false
}

// Counts reports whether Body counts positions, or concatenates, along an axis of the first result.
func (s *Fused) Counts(axis int) bool {
	if s.Parts() > 1 && axis == s.Along(0) {
		return true
	}
	return slices.ContainsFunc(s.Body, func(step domain.Step) bool { back, ok := step.Positions(); return ok && s.Along(back) == axis })
}
