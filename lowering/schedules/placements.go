package schedules

import (
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/place"
)

// Placing is the name of the pass AssignPlacements. Candidates are lowered without it: some have its placements already.
const Placing = "assign-placements"

// AssignPlacements applies the placements that package place derives if the program is then predicted to be faster.
//
// Requires: the schedule is chosen.
// Establishes: if the placements are applied, each statement is local to a rank or one communication.
//
//	before: S = Reduce(sum, P, axis 0); Y = Reshape(S)    P [DIDx(D), M, N], Y [DIDx(D), m, N]
//	after:  S_rows = Reshape(P); Y = Reduce(sum, S_rows, axis 0)
func AssignPlacements(p *hostir.Program, m *cost.Machine, lower Lower) error {
	if m == nil {
		var err error
		if m, err = cost.LoadMachine(MeasuredMachine); err != nil {
			return err
		}
	}
	other, err := placed(p, m)
	if other == nil || err != nil {
		return err
	}
	same := []Candidate{{Set: func(*hostir.Program) {}}}
	fresh := func() (*hostir.Program, error) { return text.Parse(p.File, text.Print(p)) }
	ranked := rankPlaced(Rank(fresh, same, m, lower), other, m, lower)
	if best, ok := Best(ranked); ok && best.Placed {
		*p = *other
	}
	return nil
}

// triedFirst is the number of the fastest schedules that are tried with derived placements before all others.
const triedFirst = 3

// rankPlaced ranks candidates and the same with derived placements. The fastest are tried first, and those that make no choice, since
// another communication may need none. If they gain nothing, the others are not tried. Between equals those without are the safe choice.
func rankPlaced(ranked []Ranked, placed *hostir.Program, m *cost.Machine, lower Lower) []Ranked {
	from := text.Print(placed)
	fresh := func() (*hostir.Program, error) { return text.Parse(placed.File, from) }
	var first, others []Candidate
	for i, r := range ranked {
		with := r.Candidate
		with.Placed = true
		with.Choices++
		if i < triedFirst || r.Choices == 0 {
			first = append(first, with)
		} else {
			others = append(others, with)
		}
	}
	ranked = byTime(append(ranked, Rank(fresh, first, m, lower)...))
	if best, ok := Best(ranked); !ok || best.Placed {
		ranked = byTime(append(ranked, Rank(fresh, others, m, lower)...))
	}
	return ranked
}

// placed returns a copy of a program with derived placements; nil if they change nothing, or the program is too large to predict it.
func placed(p *hostir.Program, m *cost.Machine) (*hostir.Program, error) {
	if len(p.Body) > mostOperations {
		return nil, nil //nolint:nilnil // there is no such program
	}
	other, err := text.Parse(p.File, text.Print(p))
	if err != nil || !place.AssignPlacements(other, m) {
		return nil, err
	}
	return other, nil
}
