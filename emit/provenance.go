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

// account notes a communication for the summary, and keeps the largest one for the
// columns of the report.
func (b *builder) account(s *hostir.Communication, in, out *buffer) {
	whole := out
	if in.elements().size > out.elements().size {
		whole = in
	}
	kind := strings.ToLower(string(s.Type))
	over := "mesh axis " + s.MeshAxis
	switch {
	case s.Type == hostir.SendRecv:
		over = fmt.Sprintf("meshes %s and %s", s.In.Mesh.Name, s.Out.Mesh.Name)
	case s.MeshAxis == "":
		over = "mesh " + s.Mesh.Name
	}
	b.accountFor(fmt.Sprintf("%s of %s over %s", kind, in.root.Name, over), kind, whole)
}

// accountTransfer notes what a rank receives from another one.
func (b *builder) accountTransfer(s *hostir.P2PCommunication, buf *buffer) {
	if !s.Send {
		b.accountFor(fmt.Sprintf("transfers into %s from rank to rank by %s", buf.root.Name, s.Backend), "sendrecv", buf)
	}
}

// accountFor notes a communication in words, once for neighbours that are alike.
func (b *builder) accountFor(text, kind string, whole *buffer) {
	for _, l := range b.loops {
		text += ", one slice per iteration of " + l.name
	}
	if len(b.derived) == 0 || b.derived[len(b.derived)-1] != text {
		b.derived = append(b.derived, text)
	}
	bytes := times(b.runs(), whole.elements(), number(whole.tensor.DType.Size()))
	if bytes.size > b.view.Bytes.size {
		b.view.Bytes, b.view.Communication = bytes, kind
	}
}
