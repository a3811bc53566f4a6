package emit

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/templates"
)

// templateFiles reads every template under its name without the suffix.
func templateFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(templates.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(templates.FS, path)
		files[strings.TrimSuffix(path, ".tmpl")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var headerForm = regexp.MustCompile(`^\{\{- /\* .+ dot: \*(emit|calls)\.\w+ \*/ -\}\}\n`)

func TestTemplatesOnlySpell(t *testing.T) {
	for name, text := range templateFiles(t) {
		if !headerForm.MatchString(text) {
			t.Errorf("%s: the first line must say what it prints and what dot is", name)
		}
		for _, mistake := range lint(t, name, text) {
			t.Errorf("%s: %s", name, mistake)
		}
		if limit := 80; strings.Contains(name, "/") && strings.Count(text, "\n") > limit {
			t.Errorf("%s has more than %d lines", name, limit)
		}
	}
}

// TestLintCatches checks that lint reports each kind of mistake.
func TestLintCatches(t *testing.T) {
	for _, text := range []string{
		`{{ $x := .A }}{{ $x }}`, `{{ if and .A .B }}x{{ end }}`, `{{ if eq .A "b" }}x{{ end }}`,
		`x{{ index .A 0 }}`, `x{{ printf "%d" .A }}`, `{{ range $i, $e := .A }}x{{ end }}`, `{{ template "other" }}x`,
		`{{/* nothing */}}`,
	} {
		if len(lint(t, "bad", text)) == 0 {
			t.Errorf("the lint accepts %s", text)
		}
	}
}

// forbidden are the functions of text/template that decide, compute or format.
var forbidden = strings.Fields("and or eq ne lt le gt ge index slice len printf print println html js urlquery call")

func lint(t *testing.T, name, text string) []string {
	t.Helper()
	set := template.Must(template.New(name).Funcs(placeholders).Parse(text))
	var mistakes []string
	printed := false
	var visit func(node parse.Node)
	visitList := func(list *parse.ListNode) {
		if list != nil {
			for _, n := range list.Nodes {
				visit(n)
			}
		}
	}
	pipe := func(p *parse.PipeNode) {
		if len(p.Decl) > 0 {
			mistakes = append(mistakes, "declares a variable: "+p.String())
		}
		for _, command := range p.Cmds {
			for _, arg := range command.Args {
				visit(arg)
			}
		}
	}
	branch := func(b *parse.BranchNode) {
		pipe(b.Pipe)
		visitList(b.List)
		visitList(b.ElseList)
	}
	visit = func(node parse.Node) {
		switch n := node.(type) {
		case *parse.TextNode:
			printed = printed || strings.TrimSpace(string(n.Text)) != ""
		case *parse.ActionNode:
			printed = true
			pipe(n.Pipe)
		case *parse.PipeNode:
			pipe(n)
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.TemplateNode:
			mistakes = append(mistakes, "includes another template: "+n.String())
		case *parse.IdentifierNode:
			for _, f := range forbidden {
				if n.Ident == f {
					mistakes = append(mistakes, "decides or computes: "+f)
				}
			}
		}
	}
	visitList(set.Root)
	if !printed {
		mistakes = append(mistakes, "prints nothing")
	}
	return mistakes
}

// TestEveryTemplateIsUsed finds templates that no statement and no output uses, and statements and
// outputs without a template.
func TestEveryTemplateIsUsed(t *testing.T) {
	used := map[string]bool{programTemplate: true, "ucc/collective": true}
	for _, out := range slices.Concat(outputs, kernelOutputs, goOutputs, pythonOutputs) {
		used[out.template] = true
	}
	for _, statement := range everyStatement() {
		used[(&printer{}).templateOf(statement)] = true
	}
	files := templateFiles(t)
	for name := range files {
		if !used[name] {
			t.Errorf("nothing prints template %s", name)
		}
	}
	for name := range used {
		if _, ok := files[name]; !ok {
			t.Errorf("there is no template %s", name)
		}
	}
}

// everyStatement returns one statement of every kind, in every variant that has its own template, except calls of UCC.
func everyStatement() []calls.Stmt {
	caller := calls.Stream{Name: calls.Caller}
	list := []calls.Stmt{
		&calls.EventRecord{}, &calls.StreamWait{}, &calls.FlagWrite{}, &calls.FlagWrite{Kernel: true}, &calls.FlagWrite{Batch: "b"},
		&calls.FlagWait{}, &calls.FlagWait{Kernel: true}, &calls.FlagWait{Batch: "b"}, &calls.MemOpBatch{}, &calls.Memcpy{},
		&calls.Memcpy{Batch: "b"}, &calls.Transfer{}, &calls.Transfer{Batch: "b"}, &calls.NcclGroup{}, &calls.Gemm{}, &calls.Attend{},
		&calls.Launch{Kernel: "unary", Fn: "relu"},
		&calls.Launch{Kernel: "binary", Fn: "add"}, &calls.Launch{Kernel: "reduce", Fn: "sum"}, &calls.Launch{Kernel: "positions"},
		&calls.Launch{Kernel: "gather", Fn: "int32"}, &calls.Launch{Kernel: calls.TopK, Fn: "int32"},
		&calls.Launch{Kernel: "silu_mul"}, &calls.Delay{}, &calls.PeerSum{}, &calls.PeerPart{},
		&calls.RowExchange{}, &calls.FlagWrite{Batch: "b", On: caller}, &calls.FlagWait{Batch: "b", On: caller},
		&calls.Transfer{Batch: "b", On: caller}, &calls.Memcpy{Batch: "b", On: caller}, &calls.Launch{Batch: "b", Kernel: "silu_mul"},
		&calls.For{}, &calls.If{}, &calls.Declare{}, &calls.Let{}, &calls.DeclareStream{}, &calls.BeginCall{},
	}
	for _, row := range collective.Rows() {
		list = append(list, &calls.NcclCall{Kind: row.Call})
	}
	list = append(list, &calls.NcclCall{Kind: "send"}, &calls.NcclCall{Kind: "recv"})
	return list
}

func TestTemplateErrorsNameTheirPlace(t *testing.T) {
	p, err := newPrinter(&calls.Program{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.execute("stmt/For", struct{ First int }{})
	if err == nil || !strings.Contains(fmt.Sprint(err), "stmt/For:2") {
		t.Errorf("the error does not name template and line: %v", err)
	}
}
