package emit

import (
	"fmt"
	"path"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
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
	lines := []string{}
	for _, op := range b.program.Reference {
		lines = append(lines, "  "+formatOp(op))
	}
	var tensors []string
	for _, t := range b.program.Tensors {
		if t.Role == hostir.Input || t.Role == hostir.Output {
			tensors = append(tensors, fmt.Sprintf("  %s %s %s", t.Name, domain.FormatAxes(t.Axes), t.DType))
		}
	}
	lines = append(lines, tensors...)
	for _, text := range b.derived() {
		lines = append(lines, "derived: "+text)
	}
	return append(lines, "schedule: "+b.schedule())
}

// formatOp prints an operation as specs do: "C = matmul(A, B)".
func formatOp(op hostir.RefOp) string {
	name := op.Kind
	if op.Fn != "" {
		name = op.Fn
	}
	return fmt.Sprintf("%s = %s(%s)", op.Out, name, strings.Join(op.In, ", "))
}

// derived lists the communications that the passes added.
func (b *builder) derived() []string {
	var list []string
	seen := map[string]bool{}
	var visit func(body []hostir.Stmt, loops string)
	visit = func(body []hostir.Stmt, loops string) {
		for _, s := range body {
			if c, ok := s.(*hostir.Communication); ok {
				text := fmt.Sprintf("%s of %s over mesh axis %s%s",
					strings.ToLower(string(c.Type)), c.In.Name, c.MeshAxis, loops)
				if !seen[text] {
					list = append(list, text)
				}
				seen[text] = true
			}
			inner := loops
			if f, ok := s.(*hostir.For); ok {
				inner += fmt.Sprintf(", for each %s of %s", f.Var, f.Count)
			}
			for _, nested := range hostir.Bodies(s) {
				visit(*nested, inner)
			}
		}
	}
	visit(b.program.Body, "")
	return list
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
