// Package goprint has the functions that all printers of Go share: they render a file and make text from a spec safe
// in comments.
package goprint

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// Render prints a file and groups its imports: first the standard library, then, after an empty line, the rest. An
// import belongs to the rest if the first element of its path has a dot, or if it is in the module.
func Render(f *jen.File, module string) ([]byte, error) {
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		return nil, err
	}
	head, rest, found := strings.Cut(out.String(), "\nimport (\n")
	block, body, closed := strings.Cut(rest, ")\n")
	if !found || !closed {
		return out.Bytes(), nil
	}
	var standard, others []string
	for line := range strings.Lines(block) {
		if isStandard(line, module) {
			standard = append(standard, line)
		} else {
			others = append(others, line)
		}
	}
	if len(standard) > 0 && len(others) > 0 {
		standard = append(standard, "\n")
	}
	return []byte(head + "\nimport (\n" + strings.Join(slices.Concat(standard, others), "") + ")\n" + body), nil
}

// isStandard reports whether a line imports a package of the standard library.
func isStandard(line, module string) bool {
	_, path, _ := strings.Cut(line, `"`)
	path = strings.TrimSuffix(strings.TrimSpace(path), `"`)
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != module && !strings.HasPrefix(path, module+"/")
}

// ExitOnError prints an if statement that reports err and ends a program.
func ExitOnError() jen.Code {
	return jen.If(jen.Err().Op("!=").Nil()).Block(
		jen.Qual("fmt", "Fprintln").Call(jen.Qual("os", "Stderr"), jen.Err()),
		jen.Qual("os", "Exit").Call(jen.Lit(1)),
	)
}

// Line makes text safe for a one-line comment.
func Line(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return quoted[1 : len(quoted)-1]
}

// Comment prints each line of text as a line of a comment.
func Comment(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != '\t' {
			line = " " + line
		}
		out.WriteString("//" + line + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}
