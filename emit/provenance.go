package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// at is what a run-time error reports: "spec.yaml:12:5 Synchronize". Only the base
// name of the file is printed, so that no path of the author's machine leaks.
func at(pos diag.Pos, what string) string {
	if pos.File != "" {
		pos.File = path.Base(strings.ReplaceAll(pos.File, `\`, "/"))
	}
	return strings.TrimSpace(pos.String() + " " + what)
}

// summary says in a few lines what the program computes and what was derived.
func (b *builder) summary() []string {
	lines := append(indented(b.operations(8)), "")
	for _, t := range b.view.Tensors() {
		lines = append(lines, fmt.Sprintf("  %s %s %s", t.Name, t.Shape, t.Type.Alias))
	}
	lines = append(lines, "")
	for _, text := range capped(b.derived, 8) {
		lines = append(lines, "Derived: "+text+".")
	}
	lines = append(lines, "Schedule: "+b.schedule()+".")
	if auto := b.program.Auto; auto != nil {
		lines = append(lines, "Chosen by auto: "+auto.Basis+".")
		if len(auto.Given) > 0 {
			lines = append(lines, "Given in the spec: "+strings.Join(auto.Given, ", ")+".")
		}
	}
	return lines
}

// description is the operations in one line, for CMake.
func (b *builder) description() string {
	return commentWord(strings.Join(b.operations(3), "; "))
}

// operations lists the operations as specs spell them, a few of many.
func (b *builder) operations(most int) []string {
	ops := make([]string, len(b.program.Reference))
	for i, op := range b.program.Reference {
		ops[i] = formatOp(op)
	}
	return capped(ops, most)
}

// capped keeps the first lines and counts the rest.
func capped(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = "  " + line
	}
	return out
}

// formatOp prints an operation as specs do: "C = matmul(A, B)".
func formatOp(op hostir.RefOp) string {
	name := op.Kind
	if op.Fn != "" {
		name = op.Fn
	}
	return fmt.Sprintf("%s = %s(%s)", op.Out, name, strings.Join(op.In, ", "))
}

// hasStmt reports whether there is a statement of one type.
func hasStmt[T hostir.Stmt](body []hostir.Stmt) bool {
	found := false
	hostir.Walk(body, func(s hostir.Stmt) bool {
		_, is := s.(T)
		found = found || is
		return !found
	})
	return found
}

// workers counts the worker streams that the program uses.
func (b *builder) workers() string {
	switch b.view.Workers {
	case 0:
		return "no worker streams"
	case 1:
		return "1 worker stream"
	default:
		return fmt.Sprintf("%d worker streams", b.view.Workers)
	}
}
