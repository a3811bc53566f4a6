package emit

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
)

// IsReserved reports whether a name is reserved, so that no tensor or other part of a spec gets it in an emitted
// program.
func IsReserved(name string) bool { return names.IsReserved(name) }

// TurnedBy returns the number of the operand that a kernel transposes, or 0.
func TurnedBy(k *calls.Kernel, launches []*calls.Launch) int { return turnedBy(k, launches) }

// FirstComment returns the text of the comment at the beginning of a spec and an empty line, or nothing.
func FirstComment(spec []byte) []string { return firstComment(spec) }

// Docstring makes text safe in a string of Python between three quotes.
func Docstring(text string) string { return docstring(text) }
