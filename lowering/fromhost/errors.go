package fromhost

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A refusal is the panic value with which refuse ends a translation. translate recovers it, and returns its error.
type refusal struct{ error }

// refuse ends the translation if there is an error.
func refuse(err error) {
	if err != nil {
		panic(refusal{err})
	}
}

// must returns list, or ends the translation if there is an error.
func must(list []calls.Stmt, err error) []calls.Stmt {
	refuse(err)
	return list
}

// notContiguous returns the error for an operand or result that is not contiguous, although the call needs that. use
// names the call.
func (b *builder) notContiguous(s hostir.Stmt, t *hostir.Tensor, use string) error {
	var list diag.List
	list.Add(s.Meta().Pos, diag.NotContiguous, "%s reads or writes %s, whose elements are not in one run of memory", use,
		hostir.Called(b.program, s, t)).
		WithHint("copy it with set into a tensor of its own before")
	return list.Err()
}

// errorAt returns an error for a program that cannot be translated, at a position of its spec.
func errorAt(pos diag.Pos, format string, args ...any) error {
	var list diag.List
	list.Add(pos, diag.NotLowerable, format, args...)
	return list.Err()
}

// internalError returns an error for a host program that no pass should have made.
func internalError(s hostir.Stmt, format string, args ...any) error {
	return fmt.Errorf("%s: internal error: %s: %s", s.Meta().Pos, hostir.Op(s), fmt.Sprintf(format, args...))
}
