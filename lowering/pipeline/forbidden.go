package pipeline

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// forbidden reports each lead that the user asks for by name and that no transfer can have, with the edge that it
// would break. What was asked for all communications has to hold for one of them.
func (o *overlap) forbidden() error {
	var errors diag.List
	for _, choice := range o.program.Choices.Choices {
		if choice.Field != schedule.Lead || choice.Value == schedule.None || !o.program.Given(choice) {
			continue
		}
		asked := slices.DeleteFunc(slices.Clone(o.graph.Tasks), func(t *Task) bool {
			chosen, _ := o.program.Choices.Chosen(hostir.CommunicationOf(t.Stmt), schedule.Lead)
			return !t.IsTransfer() || len(t.Loops) == 0 || chosen.Path() != choice.Path()
		})
		if len(asked) == 0 || slices.ContainsFunc(asked, func(t *Task) bool { return o.led[t] }) {
			continue
		}
		for _, t := range asked {
			if e := o.edgeInto(t); e != nil {
				o.forbid(&errors, choice, e)
				break
			}
		}
	}
	return errors.Err()
}

// forbid reports a lead at its place, and the edge at both ends.
func (o *overlap) forbid(errors *diag.List, choice schedule.Choice, e *Edge) {
	p, whom := o.program, ""
	if choice.Of == schedule.All {
		whom = "it holds for no communication of this program: "
	}
	d := hostir.Refuse(errors, p, e.To.Stmt, choice.Of, choice.Field, whom+"%s follows %s %s, and cannot be issued before its loop",
		hostir.Work(p, e.To.Stmt), hostir.Work(p, e.From.Stmt), e.apart())
	hostir.NoteEdge(d, p, e.Kind.String(), e.From.Stmt).WithHint("leave out lead, or choose lead: none")
}

// apart says how many iterations of the outermost loop are between the ends of the edge, at least.
func (e *Edge) apart() string {
	steps := e.Distances[0][0]
	for _, d := range e.Distances {
		steps = min(steps, d[0])
	}
	switch steps {
	case 0:
		return "of the same iteration"
	case 1:
		return "of the iteration before"
	}
	return fmt.Sprintf("of %d iterations before", steps)
}

// edgeInto is the first edge that leads to a transfer from its own loops: to itself, what it is grouped with, or what
// lends the memory that it copies. Nil where there is none.
func (o *overlap) edgeInto(t *Task) *Edge {
	ends := []*Task{t}
	if t.Group != nil {
		ends = append(ends, o.graph.members[t.Group]...)
	}
	if t.copies() {
		ends = append(ends, o.graph.of[t.Exchange.Owner()])
	}
	for _, end := range ends {
		at := slices.IndexFunc(o.graph.in[end.id], func(e *Edge) bool { return common(e.From, e.To) > 0 })
		if at >= 0 {
			return o.graph.in[end.id][at]
		}
	}
	return nil
}
