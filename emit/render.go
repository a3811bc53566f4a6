package emit

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"text/template"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/templates"
)

// A printer prints the views of one program. It holds the parsed templates under their paths without the suffix
// ".tmpl": "program.cpp", "stmt/Gemm".
type printer struct {
	templates *template.Template
	marks     *marks // source map; nil disables it
	teams     map[string]*calls.Team
}

// loadTemplates parses the templates once per process.
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

// helpers are the functions of templates that do not depend on the program.
var helpers = template.FuncMap{
	"cstr":      cstr,
	"fill":      func(fill string) string { return "hirgen::Fill::k" + strings.ToUpper(fill[:1]) + fill[1:] },
	"comment":   comment,
	"lines":     func(lines []string) string { return comment(lines...) },
	"safe":      commentWord,
	"docstring": docstring,
	"cmake":     cmakeQuote,
	"join":      func(list []string) string { return strings.Join(list, ", ") },
	"braces":    func(list []string) string { return braces(list...) },
	"ints":      intList[int],
	"upper":     strings.ToUpper,
	"indent":    indentBy,
}

// placeholders are the helpers and stand-ins for the functions that depend on a program. The parser needs the names
// of all functions.
var placeholders = func() template.FuncMap {
	funcs := template.FuncMap{"stmts": func([]calls.Stmt) (string, error) { return "", nil }}
	maps.Copy(funcs, helpers)
	maps.Copy(funcs, newSpeller(&calls.Program{}).funcs())
	return funcs
}()

func newPrinter(program *calls.Program) (*printer, error) {
	shared, err := loadTemplates()
	if err != nil {
		return nil, err
	}
	own, err := shared.Clone()
	if err != nil {
		return nil, err
	}
	p := &printer{templates: own, teams: calls.ByName(program.Teams)}
	own.Funcs(newSpeller(program).funcs()).Funcs(template.FuncMap{"stmts": p.statements})
	return p, nil
}

// file prints one file. C and C++ get their final layout.
func (p *printer) file(name string, view *programView) ([]byte, error) {
	text, err := p.execute(name, view)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(name, ".cpp"), strings.HasSuffix(name, ".cu"), strings.HasSuffix(name, ".hpp"), strings.HasSuffix(name, ".h"):
		text = layOut(text)
	}
	return endWithNewline([]byte(text)), nil
}

// statements prints a list of statements, with blank lines between groups.
func (p *printer) statements(list []calls.Stmt) (string, error) {
	var parts []string
	before := ""
	for i, s := range list {
		text, err := p.execute(p.templateOf(s), s)
		if err != nil {
			return "", err
		}
		text = strings.Trim(text, "\n")
		blank := ""
		if i > 0 && apart(list[i-1], s, before, text) {
			blank = "\n"
		}
		parts, before = append(parts, blank+p.marks.around(s, text)), blank+text
	}
	return strings.Join(parts, "\n"), nil
}

// templateOf names the template of a statement.
func (p *printer) templateOf(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.NcclCall:
		if team := p.teams[s.Team]; team != nil && team.Via != "" {
			return team.Via + "/collective"
		}
		if row := collective.Of(s.Kind); row != nil && row.NCCL != "" {
			return "nccl/collective"
		}
		return "nccl/" + s.Kind
	case *calls.Launch:
		switch {
		case s.Batch != "":
			return "stmt/exchange_kernel"
		case s.Own():
			return "stmt/kernel"
		}
		return "stmt/" + s.Kernel
	case *calls.Memcpy:
		switch {
		case s.Batch != "" && s.On != (calls.Stream{}):
			return "stmt/exchange_keep"
		case s.Batch != "":
			return "stmt/memcpy_part"
		}
	case *calls.FlagWrite:
		return "stmt/" + flagForm("write", s.Batch, s.On, s.Kernel)
	case *calls.FlagWait:
		return "stmt/" + flagForm("wait", s.Batch, s.On, s.Kernel)
	case *calls.Transfer:
		switch {
		case s.Batch != "" && s.On != (calls.Stream{}):
			return "stmt/exchange_send"
		case s.Batch != "":
			return "stmt/transfer_part"
		}
	}
	return "stmt/" + calls.Op(s)
}

// flagForm names the template of a flag operation.
func flagForm(verb, batch string, on calls.Stream, kernel bool) string {
	switch {
	case batch != "" && on != (calls.Stream{}):
		return "exchange_" + verb
	case batch != "":
		return "flag_" + verb + "_part"
	case kernel:
		return "flag_" + verb + "_kernel"
	default:
		return "flag_" + verb
	}
}

// apart reports whether a blank line separates statement last, printed as before, from s, printed as text. It does if
// text begins with a comment, or if before ends with a block. It also does between a declaration and a statement of
// another kind, if the declaration takes several lines or has a blank line before it.
func apart(last, s calls.Stmt, before, text string) bool {
	return strings.HasPrefix(text, "//") || strings.HasSuffix(before, "}") || isDeclaration(last) && !isDeclaration(s) &&
		strings.Contains(before, "\n")
}

// isDeclaration reports whether a statement only declares a name.
func isDeclaration(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.Declare, *calls.Let, *calls.DeclareStream, *calls.BeginCall:
		return true
	}
	return false
}

func (p *printer) execute(name string, dot any) (string, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, dot); err != nil {
		return "", err
	}
	return out.String(), nil
}
