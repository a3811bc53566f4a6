package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// summary describes the program in lines: its operations, tensors, communications and schedule.
func (f *form) summary() []string {
	lines := append(indented(f.view.Operations), "")
	for _, t := range f.view.Tensors {
		lines = append(lines, fmt.Sprintf("  %s %s %s", t.Name, t.Shape, t.Type.Alias()))
	}
	lines = append(lines, "")
	for _, text := range capped(f.calls.Derived, 8) {
		lines = append(lines, "Derived: "+text+".")
	}
	lines = append(lines, "Schedule: "+f.calls.Schedule+".")
	if f.calls.Auto != "" {
		lines = append(lines, "Chosen by auto: "+f.calls.Auto+".")
	}
	if len(f.calls.Given) > 0 {
		lines = append(lines, "Given in the spec: "+strings.Join(f.calls.Given, ", ")+".")
	}
	return lines
}

// description returns at most three operations and the number of the others in one line, for CMake.
func (f *form) description() string {
	return commentWord(strings.Join(f.operations(3), "; "))
}

// operations returns the first operations of the program as the spec writes them, and counts the rest.
// most limits the number.
func (f *form) operations(most int) []string {
	ops := lists.Map(f.calls.Operations, func(op domain.Operation) string { return cmp.Or(op.Whole, formatOp(op)) })
	return capped(slices.Compact(ops), most)
}

// capped keeps the first lines and counts the rest.
func capped(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}

func indented(lines []string) []string {
	return lists.Map(lines, func(line string) string { return "  " + line })
}

// formatOp prints an operation as specs do: "C = matmul(A, B)".
func formatOp(op domain.Operation) string {
	name, args := op.Kind, op.In
	if a, attends := domain.AttentionOf(op.Fn); attends {
		args = append(slices.Clone(args), a.Attributes()...)
	} else if op.Fn != "" {
		name = op.Fn
	}
	return fmt.Sprintf("%s = %s(%s)", strings.Join(op.Results(), ", "), name, strings.Join(args, ", "))
}
