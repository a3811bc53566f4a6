package pipeline

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// forbidden reports each lead that the spec sets but no transfer can have, with the edge that it would break.
// Without such an edge, the loop has no work that the transfer could be issued ahead of. A lead for all
// communications must be possible for at least one of them.
func (o *overlap) forbidden() error {
	var errors diag.List
	for _, choice := range o.program.Choices.Choices {
		if choice.Field != schedule.Lead || choice.Value == schedule.None || !o.program.Given(choice) {
			continue
		}
		asked := lists.Except(o.graph.Tasks, func(t *Task) bool {
			chosen, _ := o.program.Choices.Chosen(hostir.CommunicationOf(t.Stmt), schedule.Lead)
			return !t.IsTransfer() || len(t.Loops) == 0 || chosen.Path() != choice.Path()
		})
		if len(asked) == 0 || lists.AnyIn(asked, o.led) {
			continue
		}
		at := slices.IndexFunc(asked, func(t *Task) bool { return o.edgeInto(t) != nil })
		if at < 0 {
			hostir.Refuse(&errors, o.program, asked[0].Stmt, choice.Of, choice.Field, "%s has no work in its loop that it could be issued ahead of",
				hostir.Work(o.program, asked[0].Stmt)).WithHint("leave it out, or choose lead: all")
			continue
		}
		o.forbid(&errors, choice, o.edgeInto(asked[at]))
	}
	return errors.Err()
}

// forbid reports a lead at its position in the spec, with both ends of the edge.
func (o *overlap) forbid(errors *diag.List, choice schedule.Choice, e *Edge) {
	p, whom := o.program, ""
	if choice.Of == schedule.All {
		whom = "it holds for no communication of this program: "
	}
	hint := "leave out lead, or choose lead: none"
	if most := o.most(e.To, e.To.Loops[0]); most > 0 {
		hint = fmt.Sprintf("leave out lead, or choose lead: %d", most)
	}
	d := hostir.Refuse(errors, p, e.To.Stmt, choice.Of, choice.Field, whom+"%s follows %s %s, and cannot be issued ahead of it",
		hostir.Work(p, e.To.Stmt), hostir.Work(p, e.From.Stmt), e.apart())
	hostir.NoteEdge(d, p, e.Kind.String(), e.From.Stmt).WithHint("%s", hint)
}

// apart describes the smallest number of iterations of the outermost loop between the ends of the edge: "of the
// iteration before".
func (e *Edge) apart() string {
	switch steps := e.Distances[0][0]; steps {
	case 0:
		return "of the same iteration"
	case 1:
		return "of the iteration before"
	default:
		return fmt.Sprintf("of %d iterations before", steps)
	}
}

// edgeInto returns the shortest edge to a transfer, or to a transfer issued together with it, from a task in
// the same outermost loop; nil if there is none. An edge from a transfer to itself is returned only if there
// is no other edge after it.
func (o *overlap) edgeInto(t *Task) *Edge {
	var nearest *Edge
	for _, end := range o.together(t) {
		if end == nil {
			continue
		}
		for _, e := range o.graph.in[end.id] {
			if common(e.From, e.To) > 0 && (nearest == nil || e.Distances[0][0] < nearest.Distances[0][0] || nearest.From == nearest.To) {
				nearest = e
			}
		}
	}
	return nearest
}
