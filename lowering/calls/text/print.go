// Package text is the written form of the call IR: a line for each declaration and statement.
package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// Print gives the text form: a line for each declaration, an empty line, a line for each
// statement, indented below what it stands in. Fields that are absent are left out.
func Print(p *calls.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls %s from %s\n", p.Name, strconv.Quote(p.File))
	fmt.Fprintf(&b, "streams %d\n", p.Streams)
	if p.Graph {
		b.WriteString("capture graph\n")
	}
	for _, d := range p.Declarations() {
		fmt.Fprintf(&b, "%s(%s)\n", d.Op(), line(d))
	}
	b.WriteByte('\n')
	printBody(&b, p.File, p.Body, "")
	return b.String()
}

// Statement prints one statement without what stands in it.
func Statement(s calls.Stmt) string { return s.Op() + "(" + line(s) + ")" }

func printBody(b *strings.Builder, file string, body []calls.Stmt, indent string) {
	for _, s := range body {
		b.WriteString(indent + Statement(s))
		lists := calls.Bodies(s)
		if len(lists) > 0 {
			b.WriteByte(':')
		}
		printInfo(b, file, s.Meta())
		b.WriteByte('\n')
		for i, list := range lists {
			if i == 1 && len(*list) > 0 {
				b.WriteString(indent + "Else:\n")
			}
			printBody(b, file, *list, indent+"  ")
		}
	}
}

// printInfo prints where a statement comes from, what errors call it and its note.
func printInfo(b *strings.Builder, file string, info *calls.Info) {
	if info.Pos.Line > 0 {
		b.WriteString(" @")
		if info.Pos.File != file {
			b.WriteString(strconv.Quote(info.Pos.File) + ":")
		}
		fmt.Fprintf(b, "%d", info.Pos.Line)
		if info.Pos.Col > 0 {
			fmt.Fprintf(b, ":%d", info.Pos.Col)
		}
	}
	if info.Label != "" {
		b.WriteString(" " + info.Label)
	}
	if info.Note != "" {
		b.WriteString("  # " + info.Note)
	}
}

// line prints the fields of an item.
func line(i calls.Item) string {
	w := &writer{}
	i.Fields(w)
	return strings.Join(w.parts, ", ")
}

// writer is the archive that prints.
type writer struct{ parts []string }

func (w *writer) add(key, value string) { w.parts = append(w.parts, key+" "+value) }

func (w *writer) Name(key string, v *string) {
	if *v != "" {
		w.add(key, *v)
	}
}

func (w *writer) Text(key string, v *string) {
	if *v != "" {
		w.add(key, strconv.Quote(*v))
	}
}

func (w *writer) Number(key string, v *int64) {
	if *v != 0 {
		w.add(key, strconv.FormatInt(*v, 10))
	}
}

func (w *writer) Flag(key string, v *bool) {
	if *v {
		w.parts = append(w.parts, key)
	}
}

func (w *writer) Expr(key string, v *expr.Expr) { //nolint:gocritic // an archive replaces what it is shown
	if *v != nil {
		w.add(key, (*v).String())
	}
}

func (w *writer) Exprs(key string, v *[]expr.Expr) {
	if *v != nil {
		w.add(key, formatList(*v))
	}
}

func (w *writer) Pointer(key string, v *calls.Pointer) {
	if v.Base != "" {
		w.add(key, v.String())
	}
}

func (w *writer) Stream(key string, v *calls.Stream) {
	if *v != (calls.Stream{}) {
		w.add(key, v.String())
	}
}

func formatList(list []expr.Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
