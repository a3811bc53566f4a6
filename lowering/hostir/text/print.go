// Package text converts host programs to text and JSON. The option --dump-after prints the text, and Parse reads it back. JSON
// is for other tools.
package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Print returns the text form of a program: a header that declares parameters, meshes and tensors, an empty line, and one
// statement per line, nested by two spaces. The fallback variant follows in the same form, after a line "fallback:". Parse
// reads the text back.
//
//	program ag_matmul from "spec.yaml"
//	param D = 4
//	mesh world: x = D, ranks 0..3
//	streams 4
//	choices reshard after @14:20, streams 4 @14:36
//	tensor A: bf16 [S, DIDx(D), M/(S*D), K], mesh world, input @8:3
//	reference C = matmul(A, B), shape [S, D, M/(S*D), N], bf16 @12:5
//
//	C = Allocate @12:5
//	For s in S: @12:5  # why
//	  SetCurrentStream(worker s % 4) @12:5
func Print(p *hostir.Program) string {
	w := &printer{file: p.File}
	w.header(p)
	w.out.WriteByte('\n')
	w.block(written(p.Body), 0)
	if p.Fallback != nil {
		w.out.WriteString("\n" + fallbackLine + "\n" + Print(p.Fallback))
	}
	return w.out.String()
}

// Header returns the part of a program's text with the declarations.
func Header(p *hostir.Program) string {
	w := &printer{file: p.File}
	w.header(p)
	return w.out.String()
}

// fallbackLine is the line between a program and its fallback variant.
const fallbackLine = "fallback:"

type printer struct {
	out  strings.Builder
	file string // positions in this file are printed without its name
}

func (w *printer) header(p *hostir.Program) {
	fmt.Fprintf(&w.out, "program %s from %s\n", p.Name, strconv.Quote(p.File))
	for _, param := range p.Params {
		fmt.Fprintf(&w.out, "param %s = %d\n", param.Name, param.Value)
	}
	for _, m := range p.Meshes {
		fmt.Fprintf(&w.out, "mesh %s: %s\n", m.Name, formatMesh(m))
	}
	fmt.Fprintf(&w.out, "streams %d\n", p.Streams)
	fmt.Fprintf(&w.out, "choices%s\n", w.choices(p.Choices))
	if p.Auto != nil {
		fmt.Fprintf(&w.out, "auto%s\n", formatAuto(p.Auto))
	}
	for _, t := range p.Tensors {
		fmt.Fprintf(&w.out, "tensor %s: %s%s\n", t.Name, formatTensor(t), scan.FormatPosition(t.Pos, w.file))
	}
	for _, op := range p.Saved {
		fmt.Fprintf(&w.out, "saved %s%s\n", formatRefOp(op), scan.FormatPosition(op.Pos, w.file))
	}
	for _, op := range p.Reference {
		fmt.Fprintf(&w.out, "reference %s%s\n", formatRefOp(op), scan.FormatPosition(op.Pos, w.file))
	}
}

func (w *printer) block(body []hostir.Stmt, depth int) {
	for _, s := range body {
		w.line(depth, Statement(s), s.Meta())
		for i, body := range hostir.Bodies(s) {
			if i > 0 && len(*body) > 0 {
				w.line(depth, "Else:", &hostir.Info{})
			}
			w.block(*body, depth+1)
		}
	}
}

func (w *printer) line(depth int, text string, info *hostir.Info) {
	w.out.WriteString(strings.Repeat("  ", depth))
	w.out.WriteString(text)
	w.out.WriteString(scan.FormatPosition(info.Pos, w.file))
	if info.Note != "" {
		w.out.WriteString("  # " + strings.Join(strings.Fields(info.Note), " "))
	}
	w.out.WriteByte('\n')
}
