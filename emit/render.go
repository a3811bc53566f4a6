package emit

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"text/template"

	"github.com/hirgen/hirgen/templates"
)

// A printer spells views. It holds the parsed templates under their paths without
// the ending: "program.cpp", "stmt/gemm".
type printer struct {
	templates *template.Template
}

// loadTemplates parses every template once per process.
var loadTemplates = sync.OnceValues(func() (*template.Template, error) {
	set := template.New("").Option("missingkey=error").Funcs(placeholders)
	err := fs.WalkDir(templates.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(templates.FS, path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(path, ".tmpl")
		if _, err := set.New(name).Parse(string(text)); err != nil {
			return fmt.Errorf("template %s: %w", name, err)
		}
		return nil
	})
	return set, err
})

// helpers are the functions of templates that need no printer.
var helpers = template.FuncMap{
	"cstr":    cstr,
	"comment": comment,
	"lines":   func(lines []string) string { return comment(lines...) },
	"safe":    commentWord,
	"cmake":   cmakeQuote,
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"braces":  func(list []string) string { return braces(list...) },
	"ints":    intList[int],
	"upper":   strings.ToUpper,
	"indent":  indentBy,
}

// placeholders are helpers, and the one that renders nodes, as the parser needs it.
var placeholders = func() template.FuncMap {
	funcs := template.FuncMap{"stmts": func([]node) (string, error) { return "", nil }}
	for name, f := range helpers {
		funcs[name] = f
	}
	return funcs
}()

func newPrinter() (*printer, error) {
	shared, err := loadTemplates()
	if err != nil {
		return nil, err
	}
	own, err := shared.Clone()
	if err != nil {
		return nil, err
	}
	p := &printer{templates: own}
	own.Funcs(template.FuncMap{"stmts": p.nodes})
	return p, nil
}

// file prints one file. C and C++ get their final layout.
func (p *printer) file(name string, view *programView) ([]byte, error) {
	text, err := p.execute(name, view)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(name, ".cpp"), strings.HasSuffix(name, ".hpp"), strings.HasSuffix(name, ".h"):
		text = layOut(text)
	}
	return endWithNewline([]byte(text)), nil
}

// nodes prints statements or members, one after the other.
func (p *printer) nodes(list []node) (string, error) {
	var parts []string
	for i, n := range list {
		text, err := p.execute(n.template(), n)
		if err != nil {
			return "", err
		}
		text = strings.Trim(text, "\n")
		if i > 0 && apart(list[i-1], n, parts[i-1], text) {
			text = "\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n"), nil
}

// apart reports whether a blank line goes before the text of a node: a comment opens a
// paragraph, unless a comment alone is before it, and so does a group; a block ends one; a
// condition on the rank stays with declarations only.
func apart(last, n node, before, text string) bool {
	_, guard := n.(*guardNode)
	if _, mapped := last.(*mappedNode); mapped && !guard {
		return false
	}
	if _, group := n.(*flagGroupNode); group {
		return true
	}
	return strings.HasPrefix(text, "//") || strings.HasSuffix(before, "}") || guard && strings.Contains(strings.TrimPrefix(before, "\n"), "\n")
}

func (p *printer) execute(name string, dot any) (string, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, dot); err != nil {
		return "", err
	}
	return out.String(), nil
}
