package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// movement is what a Set or Reduce does across ranks: which mesh axes split other axes
// of the result than of the operand, and whether the two are on different meshes.
type movement struct {
	in, out *hostir.Tensor
	row     []int  // the operand's row of the axis map
	reduce  string // the function of a Reduce over a split axis
	shifts  []shift
}

// shift is one mesh axis that splits another axis after a movement than before.
type shift struct {
	mesh     string
	from, to int  // axis of the operand and of the result; -1 where the mesh axis splits none
	reduced  bool // the operand's axis is the one that a Reduce folds
}

// none is the place of a mesh axis that splits no axis.
const none = -1

// describe finds what s, a Set or a Reduce, moves.
func describe(s hostir.Stmt) movement {
	m := movement{in: hostir.Uses(s)[0], out: hostir.Result(s), row: hostir.AxisMap(s)[0]}
	folded := none
	if r, ok := s.(*hostir.Reduce); ok && hostir.SplitOver(m.in.Axes[r.Axis]) != "" {
		m.reduce, folded = r.Fn, r.Axis
	}
	for i, a := range m.in.Axes {
		if a.Kind != domain.Device {
			continue
		}
		sh := shift{mesh: a.Mesh, from: i, to: splitBy(m.out, a.Mesh), reduced: i == folded}
		if sh.to == none || m.row[i] != sh.to {
			m.shifts = append(m.shifts, sh)
		}
	}
	for j, a := range m.out.Axes {
		if a.Kind == domain.Device && splitBy(m.in, a.Mesh) == none {
			m.shifts = append(m.shifts, shift{mesh: a.Mesh, from: none, to: j})
		}
	}
	return m
}

// splitBy is the axis of t that a mesh axis splits, or none.
func splitBy(t *hostir.Tensor, meshAxis string) int {
	return slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return hostir.SplitOver(a) == meshAxis })
}

// streams reports whether a pipeline slices axis i of the operand.
func (m movement) streams(i int) bool {
	return m.row[i] != hostir.Unmapped && m.out.Axes[m.row[i]].Kind == domain.Stream
}

// scattered is the axis of the operand that the movement splits over ranks, or none.
func (m movement) scattered() int {
	for _, sh := range m.shifts {
		if sh.to != none {
			return slices.Index(m.row, sh.to)
		}
	}
	return none
}

// gathered is the axis of the result that the movement makes whole, or none.
func (m movement) gathered() int {
	for _, sh := range m.shifts {
		if sh.from != none && !sh.reduced {
			return m.row[sh.from]
		}
	}
	return none
}

// isSplit reports whether a tensor is split over ranks at all.
func isSplit(t *hostir.Tensor) bool {
	return slices.ContainsFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Device })
}
