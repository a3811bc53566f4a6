package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// Fused computes Out from In by one kernel: several operations, element by element, and folds of rows.
// A row runs along the last axis of the operands, which broadcast against each other as NumPy does; the result
// has their shape or, where Body leaves one value of a row, that without the last axis or with
// one element there, or, where Body ends in a concat, that of as many rows, or, where it ends in a fold over rows,
// that without the axis before the last one, which is all the rows there are. Positions of Body count from
// the last axis of the operands. Behind the first one, Out has the values of the steps that are results, too, with
// the same axes, or with one element in the last one where a step has one value of a row. All values between are
// fp32, and a result is rounded once.
type Fused struct {
	Info
	Kernel string    // what it is called: "silu_mul"
	Out    []*Tensor `text:"="`
	In     []*Tensor
	Names  []string    // of the operands in Body
	Body   domain.Body `json:"steps"`
}

// FoldsRows reports whether Out has one value where operands have a row.
func (s *Fused) FoldsRows() bool {
	rows := s.Body.Rows(s.HasRows())
	return !rows[len(rows)-1]
}

// FoldsColumns reports whether Out has one value where operands have a column.
func (s *Fused) FoldsColumns() bool {
	_, ok := s.Body.FoldsColumns()
	return ok
}

// RowAxis is the axis of an operand of a fold over rows that is folded; Unmapped where it has none.
func RowAxis(t *Tensor) int {
	if live := Live(t); len(live) > 1 {
		return live[len(live)-2]
	}
	return Unmapped
}

// Parts is how many values of as many columns Out has one behind the other: one without a concat.
func (s *Fused) Parts() int64 {
	if last := len(s.Body) - 1; last >= 0 && s.Body[last].Concats() {
		return int64(len(s.Body[last].Args))
	}
	return 1
}

// Along is the axis of Out that is so many before the last one of the operands; Unmapped where Out has none.
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

// rank is how many axes the operands have that have most, or the positions of Body need.
func (s *Fused) rank() int {
	most := 0
	for _, t := range s.In {
		most = max(most, len(Live(t)))
	}
	return most
}

// fusedAxes aligns the operands with the result; an axis that is folded, or along which values lie one behind
// the other, is no axis of the result.
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

// Columns is how many elements a row of the operands has.
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

// countsColumns reports whether positions are all that says how long a row is.
func (s *Fused) countsColumns() bool {
	return slices.ContainsFunc(s.Body, func(step domain.Step) bool { back, ok := step.Positions(); return ok && back == 0 })
}

// HasRows tells which operands have an element for each column; of the others one stands for a row.
func (s *Fused) HasRows() []bool {
	rows := make([]bool, len(s.In))
	for i, t := range s.In {
		shape := LocalShape(t)
		rows[i] = s.Columns() == 1 || len(shape) > 0 && shape[len(shape)-1] > 1
	}
	return rows
}

// Counts reports whether an axis of Out is one that Body counts along, or lays values one behind the other.
func (s *Fused) Counts(axis int) bool {
	if s.Parts() > 1 && axis == s.Along(0) {
		return true
	}
	return slices.ContainsFunc(s.Body, func(step domain.Step) bool { back, ok := step.Positions(); return ok && s.Along(back) == axis })
}
