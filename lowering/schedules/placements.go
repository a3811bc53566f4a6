package schedules

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/place"
	"github.com/hirgen/hirgen/lowering/shard"
)

// Placing is the name of the pass AssignPlacements. Candidates are lowered without this pass, because some already have
// its placements.
const Placing = "assign-placements"

// AssignPlacements applies the placements that package place derives, if the program is predicted to be faster with
// them on m, or on MeasuredMachine if m is nil. For a large program, it predicts only the beginning.
//
// Requires: the schedule is chosen.
// Establishes: if the placements are applied, each statement is local to a rank or is one communication.
//
//	before: S = Reduce(sum, P, axis 0); Y = Reshape(S)    P [DIDx(D), M, N], Y [DIDx(D), M/D, N]
//	after:  Y_rows = Reshape(P); Y = Reduce(sum, Y_rows, axis 0)    Y_rows [DIDx(D), D, M/D, N]
func AssignPlacements(p *hostir.Program, m *cost.Machine, lower Lower) error {
	m, err := orMeasured(m)
	if err != nil || p.Derived != nil || !place.Handles(p) {
		return err // schedule: auto has decided already, or there is nothing to decide
	}
	from, _, err := beginningOf(p, mostOperations)
	if err != nil {
		return err
	}
	form, err := placed(p, from, m)
	if form == nil || err != nil {
		return err
	}
	same := []Candidate{{Set: func(*hostir.Program) {}}}
	fresh := func() (*hostir.Program, error) { return text.Parse(p.File, from) }
	ranked := rankForm(Rank(fresh, same, m, lower), form, m, lower)
	best, ok := Best(ranked)
	if ok {
		noteDerived(p.Derived, ranked, best)
	}
	if ok && best.Form != nil {
		best.Form.set(p)
	}
	return nil
}

// Form is a program that computes the same as the program of the spec, but with other axes or placements. Of a large program, it has
// the beginning.
type Form struct {
	Name    string                // the difference, in words
	Program *hostir.Program       // what is predicted
	set     func(*hostir.Program) // gives the program of the spec, however large, the form
}

const (
	derivedPlacements = "derived placements"
	noStreamAxes      = "no Stream axes"
)

// has reports whether a candidate has a form with this name.
func (c Candidate) has(name string) bool { return c.Form != nil && c.Form.Name == name }

// formsOf lists other forms of a program for schedule: auto to try. from is the text of its beginning. One form has no Stream axes,
// so that the passes choose what a pipeline slices. Another has derived placements, also without Stream axes. formsOf records in
// p.Derived from which program the placements are derived. A large program with Stream axes keeps them, and has no other form: pipelines
// between ranks, which auto would often choose then, make the proof of thousands of operations slow.
func formsOf(p *hostir.Program, from string, m *cost.Machine) (forms []*Form, err error) {
	if shard.Streams(p) && len(p.Body) <= mostOperations {
		open, err := text.Parse(p.File, from)
		if err != nil {
			return nil, err
		}
		shard.MakeSerial(open)
		forms, from = append(forms, &Form{noStreamAxes, open, shard.MakeSerial}), text.Print(open)
	}
	form, err := placed(p, from, m)
	if form != nil {
		forms = append(forms, form)
	}
	return forms, err
}

// noteDerived records whether the best candidate has derived placements. If not, it records how many microseconds
// slower the fastest candidate with them is.
func noteDerived(d *hostir.Derived, ranked []Ranked, best Ranked) {
	at := slices.IndexFunc(ranked, func(r Ranked) bool { return r.has(derivedPlacements) && r.Prediction != nil })
	if d.Applied = d.Applied || best.has(derivedPlacements); !d.Applied && at >= 0 {
		d.Slower = max(ranked[at].Prediction.Total-best.Prediction.Total, 0)
	}
}

// triedFirst is the number of fastest candidates that rankForm tries with another form before all others.
const triedFirst = 3

// rankForm appends the same candidates with another form of the program to ranked candidates. It first tries the form
// with the triedFirst candidates that are the fastest in any form so far, and with candidates without choices, because
// the communication of the form may need none. It tries the other candidates only if the best candidate then has the
// form, or if no candidate has a prediction. The form counts as a choice, so that Best prefers equally fast candidates
// without it.
func rankForm(ranked []Ranked, form *Form, m *cost.Machine, lower Lower) []Ranked {
	from := text.Print(form.Program)
	fresh := func() (*hostir.Program, error) { return text.Parse(form.Program.File, from) }
	plain := map[string]Candidate{}
	for _, r := range ranked {
		if r.Form == nil {
			plain[r.Name] = r.Candidate
		}
	}
	var first, others []Candidate
	tried := 0
	for _, r := range ranked {
		with, left := plain[r.Name]
		if !left {
			continue
		}
		delete(plain, r.Name)
		free := with.Choices == 0
		with.Form = form
		with.Choices++
		if tried++; free || tried <= triedFirst {
			first = append(first, with)
		} else {
			others = append(others, with)
		}
	}
	ranked = byTime(append(ranked, Rank(fresh, first, m, lower)...))
	if best, ok := Best(ranked); !ok || best.Form == form {
		ranked = byTime(append(ranked, Rank(fresh, others, m, lower)...))
	}
	return ranked
}

// placed derives placements for the beginning of a program, which is all of it if it has at most mostOperations statements. It returns
// them as a form, or nil if package place is not allowed to derive placements or finds none, and sets p.Derived.
func placed(p *hostir.Program, from string, m *cost.Machine) (*Form, error) {
	large := len(p.Body) > mostOperations
	if large && !place.Handles(p) {
		return nil, nil //nolint:nilnil // there is no such form
	}
	begin, err := text.Parse(p.File, from)
	if err != nil || !place.AssignPlacements(begin, m) {
		return nil, err
	}
	p.Derived = &hostir.Derived{From: from, Beginning: large}
	begin.Derived = p.Derived
	form := &Form{derivedPlacements, begin, func(p *hostir.Program) { *p = *begin }}
	if large {
		form.set = func(p *hostir.Program) { p.Derived.Applied = place.AssignPlacements(p, m) }
	}
	return form, nil
}

// Next is the cost of the next best placements that avoid a communication.
type Next struct {
	Us      *float64 `json:"us"` // how many microseconds longer the program takes with them; nil: there are none to compare with
	Instead string   `json:"instead"`
}

// String describes the cost in words.
func (n *Next) String() string {
	switch {
	case n == nil:
		return "none, since hirgen chooses no placements here"
	case n.Us == nil:
		return n.Instead
	}
	return microseconds(*n.Us) + " more, with " + n.Instead
}

// NextBest returns a function that returns the Next of a communication of a lowered program. The function returns nil if
// p.Derived is nil, because hirgen then derived no placements, and for a movement from mesh to mesh.
func NextBest(p *hostir.Program, m *cost.Machine) (func(hostir.Movement) *Next, error) {
	if p.Derived == nil {
		return func(hostir.Movement) *Next { return nil }, nil
	}
	open, err := text.Parse(p.File, p.Derived.From)
	if err != nil {
		return nil, err
	}
	best := place.NextBest(open, m)
	searched := map[string]bool{} // by name
	for _, t := range open.Tensors {
		searched[t.Name] = true
	}
	return func(of hostir.Movement) *Next {
		if len(of.Needs) > 0 && of.Needs[0].Axis == "" { // from mesh to mesh
			return nil
		}
		for _, need := range of.Needs {
			change := need.Change()
			next, known := best(change)
			if !known { // a pipeline may replace an Allreduce by a ReduceScatter and an Allgather
				change.Type = collective.Allreduce
				next, known = best(change)
			}
			switch {
			case next != nil:
				return &Next{&next.Us, next.Instead}
			case known:
				return &Next{Instead: "none, since no placements do without it"}
			}
		}
		switch {
		case p.Derived.Beginning && !slices.ContainsFunc(of.Needs, func(n *hostir.Need) bool { return searched[n.Tensor] }):
			return &Next{Instead: fmt.Sprintf("none, since hirgen looks for it in the first %d operations only", len(open.Body))}
		case p.Derived.Applied:
			return &Next{Instead: "none, since the schedule makes it, and not the placements"}
		case p.Derived.Slower < 0.05:
			return &Next{Instead: "none, since derived placements of all tensors are no faster"}
		}
		return &Next{Us: &p.Derived.Slower, Instead: "derived placements of all tensors"}
	}, nil
}
