package place

import (
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Placement describes the part of a tensor that a rank has along one mesh axis. It is Whole, Partial, or the index of
// the tensor axis of which each rank has a block.
type Placement int8

const (
	// Whole means that each rank has all elements.
	Whole Placement = hostir.Whole
	// Partial means that each rank has a partial sum of every element, or an operand of another reduction, such as a
	// maximum.
	Partial Placement = hostir.Partial
)

// splits reports whether each rank has a block of an axis.
func (p Placement) splits() bool { return p >= 0 }

// Placements holds one Placement for each axis of a mesh, in the order of the axes, one byte each.
type Placements string

// placements packs a list of Placement values.
func placements(list ...Placement) Placements {
	text := make([]byte, len(list))
	for i, p := range list {
		text[i] = byte(p)
	}
	return Placements(text)
}

// of returns the placement along the mesh axis with this index.
func (p Placements) of(axis int) Placement { return Placement(p[axis]) }

// with returns the placements with another placement along one mesh axis.
func (p Placements) with(axis int, by Placement) Placements {
	return p[:axis] + Placements([]byte{byte(by)}) + p[axis+1:]
}

// partial reports whether the tensor is partial along any mesh axis.
func (p Placements) partial() bool {
	return strings.Contains(string(p), string(placements(Partial)))
}

// twice reports whether two mesh axes split the same axis.
func (p Placements) twice() bool {
	for i := range len(p) {
		if p.of(i).splits() && strings.IndexByte(string(p[i+1:]), p[i]) >= 0 {
			return true
		}
	}
	return false
}

// declared returns the placements that the axes of a tensor state.
func declared(t *hostir.Tensor, mesh *domain.Mesh) Placements {
	list := make([]Placement, len(mesh.Axes))
	for i, axis := range mesh.Axes {
		list[i] = Placement(hostir.SplitAxis(t, axis.Name)) // Unmapped is Whole
	}
	return placements(list...)
}

// step changes the placement along one mesh axis. It is one communication, or each rank takes its block of a whole tensor.
type step struct {
	mesh     int // index of the mesh axis
	from, to Placement
}

// kind returns the collective of a step, or "" if each rank only takes its block of a whole tensor.
func (s step) kind() collective.Type {
	if s.from == Whole {
		return ""
	}
	return collective.Form{Splits: s.to.splits(), Reduces: s.from == Partial}.Type()
}

// steps lists the steps from one placement to another: if possible reductions first, then splits of whole tensors, then moves from axis
// to axis, and gathers last, so that little data moves. It returns false if a step would have to make the tensor partial, which no step
// can.
func steps(from, to Placements) (list []step, possible bool) {
	for from != to {
		at, best := -1, 0
		for i := range len(from) {
			rank := rankOf(from.of(i), to.of(i))
			if next := from.with(i, to.of(i)); rank > best && !next.twice() {
				at, best = i, rank
			}
		}
		target := Whole
		if at >= 0 {
			target = to.of(at)
		} else { // two mesh axes swap the axes that they split: gather one
			at = 0
			for at < len(from) && (from[at] == to[at] || !from.of(at).splits()) {
				at++
			}
		}
		if at == len(from) || target == Partial {
			return nil, false
		}
		list = append(list, step{at, from.of(at), target})
		from = from.with(at, target)
	}
	return list, true
}

// rankOf returns the priority of a change along one mesh axis; 0 if nothing changes. The change with the highest priority is the
// next step.
func rankOf(from, to Placement) int {
	switch {
	case from == to:
		return 0
	case from == Partial:
		return 4
	case from == Whole:
		return 3
	case to.splits():
		return 2
	default:
		return 1
	}
}
