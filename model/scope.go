package model

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/names"
)

// aTensor is the kind of name that checkName and declare get for a tensor.
const aTensor = "a tensor"

// checkName returns false after it has reported a name that cannot be used. what describes the owner of the name. program
// is true for the name of the pipeline.
func checkName(list *diag.List, t text, what string, program bool) bool {
	if fault := names.Fault(t.value); fault != "" {
		list.Add(t.pos, diag.BadName, "%s", fault).
			WithHint("a name is a letter, then up to %d letters, digits and underscores", names.MaxLength-1)
		return false
	}
	owner := names.Refused(t.value, what == aTensor)
	if program {
		owner = names.ReservedBy(t.value, true)
	}
	if owner != "" {
		list.Add(t.pos, diag.ReservedName, "%s cannot be called %q: it is %s", what, t.value, owner)
		return false
	}
	if class := names.Class(t.value); program && class != t.value && names.ReservedBy(class, false) != "" {
		list.Add(t.pos, diag.ReservedName, "%s cannot be called %q: its class would be %s, %s", what, t.value, class,
			names.ReservedBy(class, false))
		return false
	}
	return true
}

// scope holds the names of a spec that share a name space.
type scope struct {
	taken map[string]named
}

type named struct {
	name, what string
	pos        diag.Pos
}

func newScope() *scope {
	return &scope{taken: map[string]named{}}
}

// declare adds a name, or reports that it is taken and returns false.
func (s *scope) declare(list *diag.List, t text, what string) bool {
	if other, ok := s.taken[t.value]; ok {
		list.Add(t.pos, diag.DuplicateName, "%q is the name of %s already", t.value, other.what).
			AddNote(other.pos, "%q is declared here", other.name)
		return false
	}
	s.taken[t.value] = named{t.value, what, t.pos}
	return true
}
