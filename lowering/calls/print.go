package calls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
)

// Print gives the text form: a line for each declaration, an empty line, a line for each
// statement, indented below what it stands in. Fields that are absent are left out.
func Print(p *Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls %s from %s\n", p.Name, strconv.Quote(p.File))
	fmt.Fprintf(&b, "streams %d\n", p.Streams)
	if p.Graph {
		b.WriteString("capture graph\n")
	}
	for _, d := range p.declarations() {
		fmt.Fprintf(&b, "%s(%s)\n", d.Op(), line(d))
	}
	b.WriteByte('\n')
	printBody(&b, p.File, p.Body, "")
	return b.String()
}

// declarations lists what a program declares, in the order of the text form.
func (p *Program) declarations() []item {
	var list []item
	list = appendItems(list, p.Params)
	list = appendItems(list, p.Constants)
	list = appendItems(list, p.Meshes)
	list = appendItems(list, p.Guards)
	list = appendItems(list, p.Teams)
	list = appendItems(list, p.Arguments)
	list = appendItems(list, p.Buffers)
	list = appendItems(list, p.Shapes)
	list = appendItems(list, p.Events)
	list = appendItems(list, p.Shares)
	return appendItems(list, p.Labels)
}

func appendItems[T item](list []item, more []T) []item {
	for _, d := range more {
		list = append(list, d)
	}
	return list
}

// FormatStmt prints one statement without what stands in it.
func FormatStmt(s Stmt) string { return s.Op() + "(" + line(s) + ")" }

func printBody(b *strings.Builder, file string, body []Stmt, indent string) {
	for _, s := range body {
		b.WriteString(indent + FormatStmt(s))
		lists := Bodies(s)
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
func printInfo(b *strings.Builder, file string, info *Info) {
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
func line(i item) string {
	w := &writer{}
	i.fields(w)
	return strings.Join(w.parts, ", ")
}

// writer is the archive that prints.
type writer struct{ parts []string }

func (w *writer) add(key, value string) { w.parts = append(w.parts, key+" "+value) }

func (w *writer) name(key string, v *string) {
	if *v != "" {
		w.add(key, *v)
	}
}

func (w *writer) text(key string, v *string) {
	if *v != "" {
		w.add(key, strconv.Quote(*v))
	}
}

func (w *writer) number(key string, v *int64) {
	if *v != 0 {
		w.add(key, strconv.FormatInt(*v, 10))
	}
}

func (w *writer) flag(key string, v *bool) {
	if *v {
		w.parts = append(w.parts, key)
	}
}

func (w *writer) expr(key string, v *expr.Expr) { //nolint:gocritic // an archive replaces what it is shown
	if *v != nil {
		w.add(key, (*v).String())
	}
}

func (w *writer) exprs(key string, v *[]expr.Expr) {
	if *v != nil {
		w.add(key, formatList(*v))
	}
}

func (w *writer) pointer(key string, v *Pointer) {
	if v.Base != "" {
		w.add(key, v.String())
	}
}

func (w *writer) stream(key string, v *Stream) {
	if *v != (Stream{}) {
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

// String prints a pointer: "A + s * K", "P_shared[peer] + K".
func (p Pointer) String() string {
	text := p.Base
	if p.Peer != nil {
		text += "[" + p.Peer.String() + "]"
	}
	if p.Offset != nil {
		text += " + " + p.Offset.String()
	}
	return text
}

// String prints a stream: "caller", "compute[s % 4]", "x_.stream".
func (s Stream) String() string {
	switch {
	case s.Index != nil:
		return "compute[" + s.Index.String() + "]"
	case s.Team:
		return s.Name + ".stream"
	default:
		return s.Name
	}
}
