package schedule

import (
	"fmt"
	"regexp"
	"strings"
)

// Markdown prints the table as in docs/spec.md: for each scope its fields and then their values, and at the end the choices
// that need preset: reference.
func Markdown() string {
	var b strings.Builder
	for _, scope := range []struct {
		of    Scope
		title string
	}{{Program, "Fields of the program"}, {Communication, "Fields of communications"}} {
		fmt.Fprintf(&b, "### %s\n\n| field | values | default | meaning |\n|---|---|---|---|\n", scope.title)
		for _, f := range Fields {
			if f.Scope == scope.of {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.valueCell(), f.defaultCell(), f.Doc)
			}
		}
		b.WriteString("\n| value | meaning |\n|---|---|\n")
		for _, f := range Fields {
			for _, v := range f.Values {
				if f.Scope == scope.of && v.Doc != "" {
					fmt.Fprintf(&b, "| `%s: %s` | %s |\n", f.Name, v.Name, v.Doc)
				}
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("With `preset: reference` alone:\n\n| choice | why |\n|---|---|\n")
	for _, f := range Fields {
		if f.Reference != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, f.Reference)
		}
		for _, v := range f.Values {
			if v.Reference != "" {
				fmt.Fprintf(&b, "| `%s: %s` | %s |\n", f.Name, v.Name, v.Reference)
			}
		}
	}
	return b.String()
}

func (f Field) valueCell() string {
	var cell []string
	for _, name := range f.ValueNames() {
		cell = append(cell, "`"+name+"`")
	}
	if f.IsNumber() {
		cell = append(cell, fmt.Sprintf("%d to %d", f.Low, f.High))
	}
	if f.MeshAxis {
		cell = append(cell, "a mesh axis")
	}
	return strings.Join(cell, ", ")
}

func (f Field) defaultCell() string {
	if f.Default == "" {
		return "open"
	}
	return "`" + f.Default + "`"
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Plain removes the targets of links and the backquotes from a documentation, for terminals and editors.
func Plain(markdown string) string {
	return strings.ReplaceAll(link.ReplaceAllString(markdown, "$1"), "`", "")
}
