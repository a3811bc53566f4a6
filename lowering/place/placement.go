package place

import (
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Placement says what a rank has of a tensor along one mesh axis: Whole, Partial, or a block of the axis with that number.
type Placement int8

const (
	// Whole means that each rank has all elements.
	Whole Placement = hostir.Whole
	// Partial means that each rank has a summand of all elements, or another operand of a maximum, minimum or product.
	Partial Placement = hostir.Partial
)

// splits reports whether it is a split.
func (p Placement) splits() bool { return p >= 0 }

// Placements has a placement for each axis of a mesh.
type Placements string

// placements returns a list of them.
func placements(list ...Placement) Placements {
	text := make([]byte, len(list))
	for i, p := range list {
		text[i] = byte(p)
	}
	return Placements(text)
}

// of returns the placement along the mesh axis with a number.
func (p Placements) of(axis int) Placement { return Placement(p[axis]) }

// with returns the placements with another placement along one mesh axis.
func (p Placements) with(axis int, by Placement) Placements {
	return p[:axis] + Placements([]byte{byte(by)}) + p[axis+1:]
}

// partial reports whether one of them is partial.
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

// declared returns the placements that a tensor's own axes state.
func declared(t *hostir.Tensor, mesh *domain.Mesh) Placements {
	list := make([]Placement, len(mesh.Axes))
	for i, axis := range mesh.Axes {
		list[i] = Placement(hostir.SplitAxis(t, axis.Name)) // Unmapped is Whole
	}
	return placements(list...)
}

// step is a change of the placement along one mesh axis: one communication, or taking a rank's own part.
type step struct {
	mesh     int
	from, to Placement
}

// kind is the communication of a change; empty: each rank takes its own part.
func (s step) kind() collective.Type {
	if s.from == Whole {
		return ""
	}
	return collective.Form{Splits: s.to.splits(), Reduces: s.from == Partial}.Type()
}

// steps lists the changes that lead from one to the other: first sums, then the rest, and gathers last, so that little data moves.
// It returns false if there are none, since nothing makes a tensor partial.
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
		} else { // two mesh axes exchange their axes
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

// rankOf orders changes; 0: there is none.
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
