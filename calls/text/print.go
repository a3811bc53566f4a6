// Package text defines the text form of the call IR: a line for each declaration and statement.
package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/scan"
)

// Print returns the text form: a header, a line for each declaration, an empty line, a line for each statement,
// indented within its parent, and sections with the life of the program. It omits fields without a value and empty
// sections.
func Print(p *calls.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls %s from %s\n", p.Name, strconv.Quote(p.File))
	fmt.Fprintf(&b, "streams %d\n", p.Streams)
	if p.Graph {
		b.WriteString("capture graph\n")
	}
	for _, d := range p.Declarations() {
		fmt.Fprintf(&b, "%s(%s)\n", calls.Op(d), line(d))
	}
	b.WriteByte('\n')
	printBody(&b, p.File, p.Body, "")
	for _, section := range p.Life.Sections() {
		if len(*section.Steps) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", section.Name)
		for _, step := range *section.Steps {
			fmt.Fprintf(&b, "  %s\n", step)
		}
	}
	return b.String()
}

// Statement prints one statement without its nested statements.
func Statement(s calls.Stmt) string { return calls.Op(s) + "(" + line(s) + ")" }

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

// printInfo prints the position, the label and the note of a statement.
func printInfo(b *strings.Builder, file string, info *calls.Info) {
	b.WriteString(scan.FormatPosition(info.Pos, file))
	if info.Label != "" {
		b.WriteString(" " + info.Label)
	}
	if info.Note != "" {
		b.WriteString("  # " + info.Note)
	}
}

// line prints the fields of a statement or a declaration that have a value.
func line(item any) string {
	var parts []string
	for _, f := range calls.Fields(item) {
		if value, ok := format(f); ok {
			parts = append(parts, strings.TrimSpace(f.Key+" "+value))
		}
	}
	return strings.Join(parts, ", ")
}

// format prints the value of a field. ok is false if the text omits the field, because its value is zero or nil.
func format(f calls.Field) (value string, ok bool) {
	switch v := f.Value.(type) {
	case *string:
		if f.Text {
			return strconv.Quote(*v), *v != ""
		}
		return *v, *v != ""
	case *int64:
		return strconv.FormatInt(*v, 10), *v != 0
	case *bool:
		return "", *v
	case *expr.Expr:
		if *v == nil {
			return "", false
		}
		return (*v).String(), true
	case *[]expr.Expr:
		return formatList(*v), *v != nil
	case *[]string:
		return formatList(*v), *v != nil
	case *[]int64:
		return formatList(*v), *v != nil
	case *calls.Pointer:
		return v.String(), v.Base != ""
	case **calls.Pointer:
		if *v == nil {
			return "", false
		}
		return (*v).String(), true
	case *calls.Stream:
		return v.String(), *v != calls.Stream{}
	}
	panic(fmt.Sprintf("no text form of %T", f.Value))
}

func formatList[T any](list []T) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprint(e)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
