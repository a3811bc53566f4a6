package prove

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// life lists the host steps around the calls, in order. All ranks do the same steps, so one list describes all of them. If ranks
// meet between two steps, the first step of any rank comes before the second step of any other rank.
type life struct {
	*verification
	things *things
	steps  []moment
	calls  int // the calls come before the step with this index
}

// moment is a step with its section. nth is its index in that section.
type moment struct {
	calls.Step
	at      int // position in life.steps
	section calls.Section
	nth     int
}

// lifetimes reports uses of things (memory, streams, events, communicators) before their creation or after their end,
// on any rank, and things that are not freed exactly once.
func (v *verification) lifetimes() {
	l := &life{verification: v, things: thingsOf(v.p)}
	for _, section := range v.p.Calls.Life.Sections() {
		if section.Name == "destroy" {
			l.calls = len(l.steps)
		}
		for nth, step := range *section.Steps {
			l.steps = append(l.steps, moment{step, len(l.steps), section, nth})
		}
	}
	if len(l.steps) == 0 {
		v.add(Finding{Check: Lifetimes, Severity: Undecided,
			Message: "the program does not say what is done before the first call and behind the last one"})
		return
	}
	l.names()
	for _, t := range l.things.all {
		l.thing(t)
	}
	for _, d := range v.p.Calls.Shares {
		l.share(d)
	}
}

// names reports steps whose name is not declared, or is of the wrong kind.
func (l *life) names() {
	shares := calls.ByName(l.p.Calls.Shares)
	for _, m := range l.steps {
		n := l.things.find(m.Name)
		known := m.Name == ""
		switch m.Do {
		case calls.Allocate, calls.Free:
			known = n >= 0 && l.things.all[n].memory
		case calls.Make, calls.Destroy:
			known = n >= 0 && !l.things.all[n].memory
		case calls.Export, calls.Exchange, calls.Import, calls.Close:
			known = shares[m.Name] != nil
		}
		if !known {
			l.report(m, "", fmt.Sprintf("the host of rank 0 does %s, and there is none", m.Step), "", 0, nil)
		}
	}
}

// all lists the steps on the thing with a name that do one of the given deeds.
func (l *life) all(name string, deeds ...calls.Deed) (list []moment) {
	for _, m := range l.steps {
		if m.Name == name && slices.Contains(deeds, m.Do) {
			list = append(list, m)
		}
	}
	return list
}

// between returns the index of the first step with one of the given deeds in steps[first:end]. A step without a name
// fits any name.
func (l *life) between(first, end int, name string, deeds ...calls.Deed) (int, bool) {
	for at := first; at < end && at < len(l.steps); at++ {
		if m := l.steps[at]; slices.Contains(deeds, m.Do) && (m.Name == "" || m.Name == name) {
			return at, true
		}
	}
	return 0, false
}

// thing proves that a thing is made once, before it is used, and freed once, after its last use.
func (l *life) thing(t *thing) {
	do, done, undo, undone := calls.Make, "made", calls.Destroy, "destroyed"
	if t.memory {
		do, done, undo, undone = calls.Allocate, "allocated", calls.Free, "freed"
	}
	made, gone := l.all(t.name, do), l.all(t.name, undo)
	used := t.local
	if t.remote.used {
		used = t.remote
	}
	switch {
	case len(made) == 0 && used.used:
		l.unmade(t, used, fmt.Sprintf("is never %s", done), do)
	case len(made) > 0 && made[0].at >= l.calls && used.used:
		l.unmade(t, used, fmt.Sprintf("is %s behind the last call", done), do)
	case len(gone) > 0 && (len(made) == 0 || made[0].at > gone[0].at):
		l.report(gone[0], t.where, fmt.Sprintf("%s of rank %d is %s before it is %s", t.name, used.owner, undone, done),
			calls.Step{Do: do, Name: t.name}.String(), used.owner, nil)
	case len(made) > 1:
		l.report(made[1], t.where, fmt.Sprintf("%s of rank %d is %s twice", t.name, used.owner, done), "", used.owner, nil)
	case len(made) == 1 && len(gone) == 0:
		l.report(made[0], t.where, fmt.Sprintf("%s of rank %d is never %s", t.name, used.owner, undone),
			calls.Step{Do: undo, Name: t.name}.String(), used.owner, nil)
	}
	if len(gone) > 1 {
		l.report(gone[1], t.where, fmt.Sprintf("%s of rank %d is %s twice", t.name, used.owner, undone), "", used.owner, nil)
	}
	if len(gone) > 0 {
		l.unused(t, gone[0], undone)
	}
}

// unmade reports an operation that uses a thing that is not made before the calls.
func (l *life) unmade(t *thing, u usage, what string, do calls.Deed) {
	at := place(l.p, u.rank, u.op, 0)
	l.add(Finding{
		Check: Lifetimes, Severity: Error, At: []Place{at}, Missing: fmt.Sprintf("%s before the first call", calls.Step{Do: do, Name: t.name}),
		Message: fmt.Sprintf("%s of rank %d uses %s of rank %d, which %s", at.Operation, u.rank, t.name, u.owner, what),
		Chains:  []Chain{around(l.p, u.rank, u.op, 0, "uses "+t.name)},
	})
}

// unused proves that no operation can still use a thing when its rank frees it. Before that, the rank has to wait for
// its own operations (finish). If peers use the thing, the ranks have to meet after that, when all peers have waited
// for their operations too.
func (l *life) unused(t *thing, gone moment, undone string) {
	message := func(u usage) string {
		return fmt.Sprintf("%s of rank %d is %s while %s of rank %d may use it", t.name, u.owner, undone,
			place(l.p, u.rank, u.op, Calls-1).Operation, u.rank)
	}
	finish, ok := l.between(l.calls, gone.at, "", calls.Finish)
	if u := t.local; u.used && !ok {
		l.report(gone, t.where, message(u), fmt.Sprintf("finish (rank %d) before %s", u.rank, gone.Step), u.owner, &u)
		return
	}
	if u := t.remote; u.used {
		if _, met := l.between(finish, gone.at, "", calls.Meet); !ok || !met {
			l.report(gone, t.where, message(u), fmt.Sprintf("finish (rank %d), then meet, before %s (rank %d)", u.rank, gone.Step, u.owner),
				u.owner, &u)
		}
	}
}

// report adds a finding about a step of a rank. other is an operation (*usage) or a step (*peerStep) that it conflicts with, or
// nil.
func (l *life) report(m moment, where, message, missing string, rank int32, other any) {
	spec, _, _ := strings.Cut(where, " ")
	f := Finding{
		Check: Lifetimes, Severity: Error, Message: message, Missing: missing, Chains: []Chain{l.chain(m, rank)},
		At: []Place{{Rank: rank, Stream: "host", Spec: spec, Operation: m.String()}},
	}
	switch other := other.(type) {
	case *usage:
		f.At = append(f.At, place(l.p, other.rank, other.op, Calls-1))
		f.Chains = append(f.Chains, around(l.p, other.rank, other.op, Calls-1, "uses it"))
	case *peerStep:
		f.At = append(f.At, Place{Rank: other.rank, Stream: "host", Spec: spec, Operation: other.moment.String()})
		f.Chains = append(f.Chains, l.chain(other.moment, other.rank))
	}
	l.add(f)
}

// peerStep is a step of a peer.
type peerStep struct {
	moment moment
	rank   int32
}

// chain lists a step with the steps before and after it in its section.
func (l *life) chain(m moment, rank int32) Chain {
	c := Chain{Title: fmt.Sprintf("rank %d, host, %s", rank, m.section.Name)}
	steps := *m.section.Steps
	for i := max(0, m.nth-1); i < min(len(steps), m.nth+2); i++ {
		if i == m.nth {
			c.Here = len(c.Steps)
		}
		c.Steps = append(c.Steps, steps[i].String())
	}
	return c
}
