package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Movement describes what a Set or Reduce does across ranks: which mesh axes split different axes of the operand and of the
// result, and whether the two are on different meshes.
type Movement struct {
	In, Out *hostir.Tensor
	Row     []int  // the operand's row of the axis map
	Reduce  string // the function of a Reduce over a split axis; empty for other statements
	Shifts  []Shift
}

// Shift is a mesh axis that does not split the same axis before and after a movement.
type Shift struct {
	Mesh     string
	From, To int  // axis of the operand and of the result; NoAxis if the mesh axis splits none
	Reduced  bool // a Reduce reduces the tensor along axis From
}

// NoAxis stands for an axis that does not exist, such as the axis that an unused mesh axis splits.
const NoAxis = -1

// Describe returns the movement of s, a Set or a Reduce.
func Describe(s hostir.Stmt) Movement {
	m := Movement{In: hostir.Uses(s)[0], Out: hostir.Result(s), Row: hostir.AxisMap(s)[0]}
	folded := NoAxis
	if r, ok := s.(*hostir.Reduce); ok && hostir.SplitOver(m.In.Axes[r.Axis]) != "" {
		m.Reduce, folded = r.Fn, r.Axis
	}
	for i, a := range m.In.Axes {
		if a.Kind != domain.Device {
			continue
		}
		sh := Shift{Mesh: a.Mesh, From: i, To: splitBy(m.Out, a.Mesh), Reduced: i == folded}
		if sh.To == NoAxis || m.Row[i] != sh.To {
			m.Shifts = append(m.Shifts, sh)
		}
	}
	for j, a := range m.Out.Axes {
		if a.Kind == domain.Device && splitBy(m.In, a.Mesh) == NoAxis {
			m.Shifts = append(m.Shifts, Shift{Mesh: a.Mesh, From: NoAxis, To: j})
		}
	}
	return m
}

// splitBy returns the axis of t that a mesh axis splits, or NoAxis.
func splitBy(t *hostir.Tensor, meshAxis string) int {
	return slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return hostir.SplitOver(a) == meshAxis })
}

// streams reports whether a pipeline slices axis i of the operand.
func (m Movement) streams(i int) bool {
	return m.Row[i] != hostir.Unmapped && m.Out.Axes[m.Row[i]].Kind == domain.Stream
}

// Scattered returns the axis of the operand that the movement splits over ranks, or NoAxis.
func (m Movement) Scattered() int {
	for _, sh := range m.Shifts {
		if sh.To != NoAxis {
			return slices.Index(m.Row, sh.To)
		}
	}
	return NoAxis
}

// Gathered returns the axis of the result that the movement makes whole, or NoAxis.
func (m Movement) Gathered() int {
	for _, sh := range m.Shifts {
		if sh.From != NoAxis && !sh.Reduced {
			return m.Row[sh.From]
		}
	}
	return NoAxis
}

// Moves reports whether s moves data between ranks. A Set that splits a tensor which each rank has whole moves none, because
// each rank takes its part. With preset: reference, Moves is true for such a Set, too: one rank scatters the tensor. It is
// also true for a Set that splits a tensor if the operand or the result has no mesh.
func Moves(p *hostir.Program, s hostir.Stmt) bool {
	if !Reshards(s) || p.Choices.Get(schedule.Preset) == schedule.Reference {
		return Reshards(s)
	}
	m := Describe(s)
	return m.In.Mesh == nil || m.Out.Mesh == nil || !m.In.Mesh.Same(m.Out.Mesh) ||
		slices.ContainsFunc(m.Shifts, func(sh Shift) bool { return sh.From != NoAxis })
}

// IsSplit reports whether any axis of a tensor is split over ranks.
func IsSplit(t *hostir.Tensor) bool {
	return slices.ContainsFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Device })
}
