package hostir

import "github.com/hirgen/hirgen/model/domain"

// Fused computes Out from In by one kernel: several operations, element by element, and folds of rows.
// A row runs along the last axis of the operands, which broadcast against each other as NumPy does; Out
// has their shape or, where Body leaves one value of a row, that without the last axis or with
// one element there. All values between are fp32, and Out is rounded once.
type Fused struct {
	Info
	Kernel string // what it is called: "silu_mul"
	Out    *Tensor
	In     []*Tensor
	Names  []string // of the operands in Body
	Body   domain.Body
}

// Op is the statement's name.
func (*Fused) Op() string { return "Fused" }

// FoldsRows reports whether Out has one value where operands have a row.
func (s *Fused) FoldsRows() bool {
	rows := s.Body.Rows(s.HasRows())
	return !rows[len(rows)-1]
}

// rank is how many axes the operands have that have most.
func (s *Fused) rank() int {
	most := 0
	for _, t := range s.In {
		most = max(most, len(Live(t)))
	}
	return most
}

// fusedAxes aligns the operands with the result; an axis that is folded is no axis of the result.
func fusedAxes(s *Fused) [][]int {
	rows := make([][]int, len(s.In))
	for i, t := range s.In {
		switch {
		case !s.FoldsRows():
			rows[i] = aligned(t, s.Out, 0, 0)
		case len(Live(s.Out)) < s.rank():
			rows[i] = aligned(t, s.Out, 1, 0)
		default:
			rows[i] = aligned(t, s.Out, 1, 1)
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
	return most
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
