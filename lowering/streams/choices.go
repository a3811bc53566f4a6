package streams

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// What passes ask of the schedule: the choice of the communication at hand.

// choice is the value of a field for the communication that a statement of whole tensors is.
func (l *streamLowering) choice(s hostir.Stmt, field string) string {
	return l.program.Choices.Of(l.moves[s], field)
}

// named is the name of the communication that a statement is, where the schedule has choices for it alone; empty
// where it has what all have.
func (l *streamLowering) named(s hostir.Stmt) string {
	if name := l.moves[s]; l.program.Choices.Names(name) {
		return name
	}
	return ""
}

// loopOf names the communications between ranks of one pipeline, in the order of its steps.
func (l *streamLowering) loopOf(g *group) []string {
	if g.chosen != nil && g.named == len(g.steps) {
		return g.names
	}
	seen := map[string]bool{}
	g.names, g.named, g.chosen = nil, len(g.steps), map[string]string{}
	for _, st := range g.steps {
		if name := l.moves[st.stmt]; st.exchanges() && !seen[name] {
			seen[name] = true
			g.names = append(g.names, name)
		}
	}
	return g.names
}

// loopChoice is the value of a structural field for the communications of one pipeline.
func (l *streamLowering) loopChoice(g *group, field string) string {
	names := l.loopOf(g)
	value, known := g.chosen[field]
	if !known {
		value = l.program.Choices.Together(names, field)
		g.chosen[field] = value
	}
	return value
}

// loopNumber is that of a field that is a number, and 0 where it is left open.
func (l *streamLowering) loopNumber(g *group, field string) int64 {
	return schedule.Number(l.loopChoice(g, field))
}

// chooser is a communication of a pipeline that has a choice by its name, for messages; or else All.
func (l *streamLowering) chooser(g *group, field string) string {
	for _, name := range l.loopOf(g) {
		if _, ok := l.program.Choices.Given(name, field); ok {
			return name
		}
	}
	return schedule.All
}

// interchanged is the number of sub-chunks whose loop is outside of that over shards; 0 where there are none. A ring has
// an order of its own, of which the choice says nothing, as where others were measured with it.
func interchanged(p *hostir.Program) int64 {
	if !p.Choices.Any(schedule.Interchange, schedule.True) {
		return 0
	}
	others := int64(0)
	for _, c := range p.Choices.Choices {
		n := schedule.Number(c.Value)
		switch {
		case c.Field != schedule.Split || n <= 1 || p.Choices.Of(c.Of, schedule.Steps) == schedule.Ring:
		case p.Choices.Of(c.Of, schedule.Interchange) == schedule.True:
			return n
		case others == 0:
			others = n // of another communication of the loop
		}
	}
	return others
}
