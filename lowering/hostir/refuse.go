package hostir

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/schedule"
)

// Refuse reports that a pass cannot apply a choice of the schedule, at the position of the choice if it has one, and at the
// statement otherwise.
func Refuse(errors *diag.List, p *Program, s Stmt, of, field, format string, args ...any) *diag.Diagnostic {
	choice, made := p.Choices.Chosen(of, field)
	if !made {
		choice = schedule.Choice{Of: of, Field: field}
	}
	pos := s.Meta().Pos
	if choice.Pos.IsValid() {
		pos = choice.Pos
	}
	d := errors.Add(pos, diag.BadSchedule, "schedule.%s: %s", choice.Path(), fmt.Sprintf(format, args...))
	if choice.Pos.IsValid() && s.Meta().Pos.IsValid() {
		d.AddNote(s.Meta().Pos, "the operation is here")
	}
	return d
}

// NoteEdge adds to a refusal a note with the statement that the refused statement depends on, and returns the refusal. kind is
// the kind of the dependency edge.
func NoteEdge(d *diag.Diagnostic, p *Program, kind string, from Stmt) *diag.Diagnostic {
	return d.AddNote(from.Meta().Pos, "the edge (%s) comes from %s, here", kind, Work(p, from))
}

// Work describes a statement in a message, as in "linear into P": its operation, and the last tensor that it names, such as its
// result. For a communication it names the buffer in place of a view of it.
func Work(p *Program, s Stmt) string {
	what := Mentions(s)
	if len(what) == 0 {
		return Operation(s)
	}
	of := what[len(what)-1]
	for Handle(s) != "" && of.Of != nil {
		of = Uses(of.Of)[0]
	}
	return Verb(s) + " " + Called(p, s, of)
}

// Verb returns the words for a statement before the name of its tensor: "send of" for a communication or a Wait, "linear into"
// for other statements.
func Verb(s Stmt) string {
	switch s.(type) {
	case *Communication, *P2PCommunication, *Wait:
		return strings.ToLower(Operation(s)) + " of"
	}
	return strings.ToLower(Operation(s)) + " into"
}

// Operation returns the word for a statement's operation: send or receive, the type of a collective, the name of a fused kernel,
// or else the type of the statement.
func Operation(s Stmt) string {
	switch s := s.(type) {
	case *Fused:
		return s.Kernel
	case *Communication:
		return string(s.Type)
	case *P2PCommunication:
		if s.Send {
			return "send"
		}
		return "receive"
	}
	return Op(s)
}
