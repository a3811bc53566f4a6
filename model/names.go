package model

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
)

// maxName bounds a name, so that what is derived from it stays within the limits of
// linkers and file systems.
const maxName = 63

// nameFault says why a text is no name, or returns an empty string. Names reach C++,
// CMake and file names, so they are taken from an allow-list.
func nameFault(name string) string {
	switch {
	case name == "":
		return "a name is missing"
	case len(name) > maxName:
		return fmt.Sprintf("%q is longer than %d letters", name, maxName)
	case strings.ContainsAny(name, `/\`) || strings.Contains(name, ".."):
		return fmt.Sprintf("%q is not a name: it holds a path", name)
	case !isNameLetter(name[0]):
		return fmt.Sprintf("%q is not a name: it does not begin with a letter", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !isNameLetter(byte(r)) && !isNameTail(byte(r)) }):
		return fmt.Sprintf("%q is not a name: it has more than letters, digits and underscores", name)
	case strings.Contains(name, "__") || strings.HasSuffix(name, "_"):
		return fmt.Sprintf("%q is not a name: generated names end in an underscore or hold two", name)
	}
	return ""
}

func isNameLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isNameTail(c byte) bool   { return c >= '0' && c <= '9' || c == '_' }

// reservedBy says what reserves a name that is otherwise well formed, or returns an
// empty string.
func reservedBy(name string, program bool) string {
	for _, r := range reservations {
		if r.programOnly && !program {
			continue
		}
		if r.names[name] || r.anyCase && r.names[strings.ToLower(name)] {
			return r.what
		}
	}
	if len(name) > 2 && strings.HasPrefix(name, "cu") && name[2] >= 'A' && name[2] <= 'Z' {
		return "a name of CUDA" // the driver's functions, and the macros that version them
	}
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix.text) {
			return prefix.what
		}
	}
	return ""
}

// className spells a program's name as its C++ class: ag_matmul -> AgMatmul.
func className(name string) string {
	class := ""
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			class += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return class
}

// checkName reports a name that cannot be used.
func checkName(list *diag.List, t text, what string, program bool) bool {
	if fault := nameFault(t.value); fault != "" {
		list.Add(t.pos, diag.BadName, "%s", fault).
			WithHint("a name is a letter, then up to %d letters, digits and underscores", maxName-1)
		return false
	}
	if owner := reservedBy(t.value, program); owner != "" {
		list.Add(t.pos, diag.ReservedName, "%s cannot be called %q: it is %s", what, t.value, owner)
		return false
	}
	if class := className(t.value); program && class != t.value && reservedBy(class, false) != "" {
		list.Add(t.pos, diag.ReservedName, "%s cannot be called %q: its class would be %s, %s", what, t.value, class, reservedBy(class, false))
		return false
	}
	return true
}

// scope holds the names of a spec that share a name space.
type scope struct {
	taken  map[string]named // by name
	folded map[string]named // by kind and name in lower case
}

type named struct {
	name, what string
	pos        diag.Pos
}

func newScope() *scope {
	return &scope{taken: map[string]named{}, folded: map[string]named{}}
}

// declare adds a name and reports one that is taken, or that differs from another of
// its kind in case only, which readers and some file systems cannot tell apart.
func (s *scope) declare(list *diag.List, t text, what string) bool {
	if other, ok := s.taken[t.value]; ok {
		list.Add(t.pos, diag.DuplicateName, "%q is the name of %s already", t.value, other.what).
			AddNote(other.pos, "%q is declared here", other.name)
		return false
	}
	key := what + " " + strings.ToLower(t.value)
	if other, ok := s.folded[key]; ok {
		list.Add(t.pos, diag.DuplicateName, "%q differs from %q in case only", t.value, other.name).
			AddNote(other.pos, "%q is declared here", other.name)
		return false
	}
	entry := named{t.value, what, t.pos}
	s.taken[t.value], s.folded[key] = entry, entry
	return true
}
