package streams

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// The functions below look up schedule fields of communications.

// choice returns the value of a schedule field for the communication that a statement becomes.
func (l *streamLowering) choice(s hostir.Stmt, field string) string {
	return l.program.Choices.Of(l.moves[s], field)
}

// named returns the name of the communication that a statement becomes, if the schedule sets fields for it by name. It
// returns "" if the schedule only sets fields for all communications.
func (l *streamLowering) named(s hostir.Stmt) string {
	if name := l.moves[s]; l.program.Choices.Names(name) {
		return name
	}
	return ""
}

// loopOf lists the names of the communications of a pipeline that exchange slices from rank to rank, in the order of
// its steps. It caches the list.
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

// loopChoice returns the value of a structural field, which all communications of one pipeline have in common.
func (l *streamLowering) loopChoice(g *group, field string) string {
	names := l.loopOf(g)
	value, known := g.chosen[field]
	if !known {
		value = l.program.Choices.Together(names, field)
		g.chosen[field] = value
	}
	return value
}

// loopNumber returns the value of a numeric structural field, or 0 if it is unset and has no default.
func (l *streamLowering) loopNumber(g *group, field string) int64 {
	return schedule.Number(l.loopChoice(g, field))
}

// chooser returns the name, for error messages, of a communication of a pipeline for which the schedule sets the field
// by name. It returns All if there is none.
func (l *streamLowering) chooser(g *group, field string) string {
	for _, name := range l.loopOf(g) {
		if _, ok := l.program.Choices.Given(name, field); ok {
			return name
		}
	}
	return schedule.All
}

// interchanged returns the number of sub-chunks if the schedule puts the loop over sub-chunks outside of the loop over
// shards. Otherwise it returns 0, also if no shards are split. It ignores rings, whose order interchange does not
// change even if it is set for them.
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
			others = n // used if no interchanged communication sets a split itself
		}
	}
	return others
}
