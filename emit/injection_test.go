package emit_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// attacks are texts that would be harmful outside their literal or comment, or as names.
var attacks = []string{
	`"; system("rm -rf /"); //`,
	`*/ #include "/etc/passwd" /*`,
	"\\\n#error escaped",
	"??/\nint evil = system(0);",
	"x\r\n#define HG_CHECK(a, b) /*",
	"]]) execute_process(COMMAND evil) #",
	"${HOME} $ENV{PATH} $(evil) `evil`",
	"{{ .Name }}{{ end }}",
	"\u202e\u2066 evil \u2028 int x;",
	"__FILE__", "class", "NULL", "main", "../../evil", "\x00\xff", "R\"(", "a\\", "%n%s",
	strings.Repeat("long", 100),
}

// rename replaces texts that a spec or a builder chooses. A number after text keeps the names distinct. Most extents
// lose their expressions, which have a separate grammar. The names of the program, of mesh axes and of loops stay.
func rename(p *hostir.Program, text string) {
	number := 0
	names := map[string]string{}
	give := func(name *string) {
		if _, known := names[*name]; !known {
			number++
			names[*name] = fmt.Sprintf("%s%d", text, number)
		}
		*name = names[*name]
	}
	p.File = text + ".yaml"
	for i := range p.Params {
		give(&p.Params[i].Name)
	}
	for _, m := range p.Meshes {
		give(&m.Name)
		for i := range m.Axes {
			m.Axes[i].Text = text
		}
	}
	for _, t := range p.Tensors {
		give(&t.Name)
		t.Pos.File = text
		for i := range t.Axes {
			t.Axes[i].Text = text
		}
	}
	for i := range p.Reference {
		op := &p.Reference[i]
		give(&op.Out)
		for j := range op.In {
			give(&op.In[j])
		}
		op.Pos.File, op.Whole = text, text
	}
	for s := range hostir.All(p.Body) {
		info := s.Meta()
		info.Note, info.Pos = text, diag.Pos{File: text, Line: 1, Col: 2}
		switch s := s.(type) {
		case *hostir.For:
			s.Count.Text = text
		case *hostir.Communication:
			give(&s.Handle)
		case *hostir.Wait:
			give(&s.Handle)
		case *hostir.Fused:
			for i := range s.Names {
				give(&s.Names[i])
			}
			for i := range s.Body {
				give(&s.Body[i].Name)
			}
		}
	}
	for i := range p.Choices.Choices {
		p.Choices.Choices[i].Value = text
	}
	p.Choices.InterNode = text
	p.Auto = &hostir.Auto{Given: []string{text}, Basis: text}
}

func TestNoTextBecomesCode(t *testing.T) {
	benign := loadExample(t, "ag_linear")
	rename(benign, "benign")
	want := map[string][]string{}
	files, err := renderHost(benign, emit.Options{Packages: emit.Packages{Go: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		want[f.Path] = codeTokens(f)
	}
	for _, attack := range attacks {
		hostile := loadExample(t, "ag_linear")
		rename(hostile, attack)
		files, err := renderHost(hostile, emit.Options{Version: attack, Flags: []string{"-p", attack}, Packages: emit.Packages{Go: true}})
		if err != nil {
			t.Errorf("%q: %v", attack, err)
			continue
		}
		for _, f := range files {
			if got := codeTokens(f); !slices.Equal(got, want[f.Path]) {
				t.Errorf("%q changes the code of %s near %s", attack, f.Path, firstDifference(got, want[f.Path]))
			}
		}
	}
}

// TestTokensCatch checks that codeTokens notices text that ends its string or its comment.
func TestTokensCatch(t *testing.T) {
	plain := codeTokens(emit.File{Path: "x.cpp", Data: []byte("f(\"text\");  // comment\ng();\n")})
	for _, text := range []string{
		"f(\"te\"xt\");  // comment\ng();\n", "f(\"text\");  // com\nment\ng();\n", "f(\"text\");  // comment\\\ng();\n",
		"f(\"text\");  // comment??/\ng();\n",
	} {
		if slices.Equal(plain, codeTokens(emit.File{Path: "x.cpp", Data: []byte(text)})) {
			t.Errorf("%q counts as the same code", text)
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("token %d: %q", i, a[max(0, i-3):min(len(a), i+3)])
		}
	}
	return "the end"
}

// codeTokens returns what a compiler or CMake sees in a file. For C++ and Go, it leaves out comments, and makes all
// strings equal and all names equal. For Markdown, it returns only the number of lines, and for the runtime, the host
// program, the calls and the manifest nil. For other files, it returns the lines without comment lines and bracket
// arguments.
func codeTokens(f emit.File) []string {
	switch {
	case strings.HasPrefix(f.Path, "runtime/"), f.Path == "host_ir.txt", f.Path == emit.CallsName, f.Path == emit.ManifestName:
		return nil
	case strings.HasSuffix(f.Path, ".md"):
		return []string{fmt.Sprint(strings.Count(string(f.Data), "\n"))}
	case strings.HasSuffix(f.Path, ".cpp"), strings.HasSuffix(f.Path, ".hpp"), strings.HasSuffix(f.Path, ".h"):
		return cppTokens(string(f.Data))
	case strings.HasSuffix(f.Path, ".go"):
		return goTokens(f.Data)
	default:
		var lines []string
		for line := range strings.Lines(string(f.Data)) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, withoutBrackets(line))
			}
		}
		return lines
	}
}

// goTokens returns the kinds of the tokens of a Go file, and the comments that are directives for compilers.
func goTokens(source []byte) []string {
	var tokens []string
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(source)), source, nil, scanner.ScanComments)
	for {
		switch _, kind, text := s.Scan(); {
		case kind == token.EOF:
			return tokens
		case kind == token.ILLEGAL, kind == token.COMMENT && strings.HasPrefix(text, "//go:"), strings.Contains(text, "#cgo"):
			tokens = append(tokens, text)
		case kind != token.COMMENT:
			tokens = append(tokens, kind.String())
		}
	}
}

// withoutBrackets replaces the bracket arguments of a line of CMake by [[]], up to the first other bracket.
func withoutBrackets(line string) string {
	before, rest, found := strings.Cut(line, "[")
	equals := len(rest) - len(strings.TrimLeft(rest, "="))
	if !found || !strings.HasPrefix(rest[equals:], "[") {
		return line
	}
	_, after, closed := strings.Cut(rest[equals+1:], "]"+strings.Repeat("=", equals)+"]")
	if !closed {
		return line
	}
	return before + "[[]]" + withoutBrackets(after)
}

// cppTokens scans the C++ that emit prints. It is as strict as a compiler about the ends of comments and strings.
func cppTokens(text string) []string {
	text = strings.ReplaceAll(text, "??/", "\\") // trigraph
	text = strings.ReplaceAll(text, "\\\n", "")  // continued line
	var tokens []string
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case strings.HasPrefix(rest, "//"):
			i += strings.IndexByte(rest+"\n", '\n')
		case strings.HasPrefix(rest, "/*"):
			i += strings.Index(rest[2:]+"*/", "*/") + 4
		case c == '"':
			end := 1
			for end < len(rest) && rest[end] != '"' && rest[end] != '\n' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			tokens = append(tokens, "string")
			i += end + 1
		case isWordByte(c):
			end := 0
			for end < len(rest) && isWordByte(rest[end]) {
				end++
			}
			tokens = append(tokens, "word")
			i += end
		case c == ' ' || c == '\n':
			i++
		default:
			tokens = append(tokens, string(c))
			i++
		}
	}
	return tokens
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
