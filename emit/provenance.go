package emit

import (
	"fmt"
	"path"
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
	var lines []string
	for _, op := range b.program.Reference {
		lines = append(lines, "  "+formatOp(op))
	}
	lines = append(lines, "")
	for _, t := range b.view.Tensors() {
		lines = append(lines, fmt.Sprintf("  %s %s %s", t.Name, t.Shape, t.Type.Alias))
	}
	lines = append(lines, "")
	for _, text := range b.derived {
		lines = append(lines, "Derived: "+text+".")
	}
	return append(lines, "Schedule: "+b.schedule()+".")
}

// formatOp prints an operation as specs do: "C = matmul(A, B)".
func formatOp(op hostir.RefOp) string {
	name := op.Kind
	if op.Fn != "" {
		name = op.Fn
	}
	return fmt.Sprintf("%s = %s(%s)", op.Out, name, strings.Join(op.In, ", "))
}

// schedule names the choices that shaped the program.
func (b *builder) schedule() string {
	c := b.program.Choices
	text := fmt.Sprintf("%d worker streams", b.program.Streams)
	for _, part := range [][2]string{{"sync", c.Sync}, {"joins", c.Joins}, {"transport", c.Transport}} {
		if part[1] != "" {
			text += ", " + part[0] + " " + part[1]
		}
	}
	if c.Graph {
		text += ", replayed as a CUDA graph"
	}
	return text
}
