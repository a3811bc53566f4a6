package model_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// expectation and detail match the comments with the errors of a bad spec in testdata. The line below a mistake has
// its column, code and message. Its hint and notes follow:
//
//	  A: [M, Kx]
//	#        ^ HG023: there is no parameter "Kx"
//	#   hint: did you mean "K"?
//
// "#<" stands for column 1, where a caret does not fit, and "#!" for a mistake without a position. A first line "# -p
// M=3" sets parameters as the command line does.
var (
	expectation = regexp.MustCompile(`^#(?:( *)\^|<|!) (HG\d{3}: .*)$`)
	detail      = regexp.MustCompile(`^#   (?:hint: .*|note \d+:\d+: .*)$`)
)

func TestBadSpecs(t *testing.T) {
	files, err := filepath.Glob("../testdata/errors/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d bad specs, %v", len(files), err)
	}
	reportAsExpected(t, files, load)
}

// TestSpecsThatDoNotLower is TestBadSpecs for specs that load but cannot be lowered to a host program or to calls.
func TestSpecsThatDoNotLower(t *testing.T) {
	files, err := filepath.Glob("../testdata/errors/lowering/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d bad specs, %v", len(files), err)
	}
	reportAsExpected(t, files, lower)
}

// TestBadSchedules is TestBadSpecs for schedules with one mistake each, some in several fields. Loading finds some of
// the mistakes. Lowering finds those that depend on the communications.
func TestBadSchedules(t *testing.T) {
	files, err := filepath.Glob("../testdata/bad-schedules/*.yaml")
	if err != nil || len(files) < 70 {
		t.Fatalf("%d bad schedules, %v", len(files), err)
	}
	reportAsExpected(t, files, func(t *testing.T, src string) *diag.Errors {
		t.Helper()
		_, err := model.Load("spec.yaml", []byte(src), nil)
		if errs, ok := diag.Diagnostics(err); ok {
			return errs
		}
		return lower(t, src)
	})
}

// TestEveryRuleHasABadSchedule checks that the bad schedules cover the table. Some file must have an error for each
// field of communications, and for each field that needs preset: reference or a kind of pipeline. Some file must also
// have each value that needs preset: reference.
func TestEveryRuleHasABadSchedule(t *testing.T) {
	files, err := filepath.Glob("../testdata/bad-schedules/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
	}
	for _, f := range schedule.Fields {
		rules := f.Scope == schedule.Communication || f.Reference != "" || f.Pipelines != nil
		if rules && !regexp.MustCompile(`HG082: schedule\.(\w+\.)?`+f.Name+`: `).MatchString(all.String()) {
			t.Errorf("no schedule is refused for %s", f.Name)
		}
		for _, v := range f.Values {
			if !strings.Contains(all.String(), f.Name+": "+v.Name) && v.Reference != "" {
				t.Errorf("no schedule is refused for %s: %s", f.Name, v.Name)
			}
		}
	}
}

// load returns the errors of loading a bad spec.
func load(t *testing.T, src string) *diag.Errors {
	t.Helper()
	_, err := model.Load("spec.yaml", []byte(src), overrides(t, src))
	errs, ok := diag.Diagnostics(err)
	if !ok {
		t.Fatalf("the spec loads: %v", err)
	}
	return errs
}

// lower returns the errors of lowering a valid spec.
func lower(t *testing.T, src string) *diag.Errors {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(src), overrides(t, src))
	if err != nil {
		t.Fatalf("the spec does not load: %v", err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err == nil {
		_, err = lowering.Calls(program, lowering.Options{})
	}
	errs, ok := diag.Diagnostics(err)
	if !ok {
		t.Fatalf("the spec lowers: %v", err)
	}
	return errs
}

// reportAsExpected compares the errors of bad specs with their comments, or with -update writes the comments.
func reportAsExpected(t *testing.T, files []string, diagnose func(*testing.T, string) *diag.Errors) {
	t.Helper()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				annotate(t, file, string(src), diagnose)
				return
			}
			want := expected(string(src))
			if len(want) == 0 {
				t.Fatal("the file says nothing of a mistake")
			}
			if diff := cmp.Diff(want, reported(diagnose(t, string(src)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// expected returns the errors in the comments of a bad spec, in the form that reported returns.
func expected(src string) []string {
	var want []string
	above := 0 // number of the last line that is not such a comment
	for i, text := range strings.Split(src, "\n") {
		switch m := expectation.FindStringSubmatch(text); {
		case m != nil:
			line, col := above, 1
			switch {
			case strings.HasPrefix(text, "#!"):
				line, col = 0, 0
			case !strings.HasPrefix(text, "#<"):
				col = strings.IndexByte(text, '^') + 1
			}
			want = append(want, fmt.Sprintf("%d:%d: %s", line, col, m[2]))
		case detail.MatchString(text):
			want = append(want, text)
		default:
			above = i + 1
		}
	}
	return want
}

// reported formats errors in the form of the comments.
func reported(errs *diag.Errors) []string {
	var got []string
	for _, d := range errs.Items {
		got = append(got, fmt.Sprintf("%d:%d: %s: %s", d.Pos.Line, d.Pos.Col, d.Code, d.Message))
		got = append(got, details(d)...)
	}
	return got
}

func details(d *diag.Diagnostic) []string {
	var lines []string
	if d.Hint != "" {
		lines = append(lines, "#   hint: "+d.Hint)
	}
	for _, n := range d.Notes {
		lines = append(lines, fmt.Sprintf("#   note %d:%d: %s", n.Pos.Line, n.Pos.Col, n.Message))
	}
	return lines
}

// overrides returns the parameters that a first line such as "# -p M=3 -p N=4" sets.
func overrides(t *testing.T, src string) map[string]int64 {
	t.Helper()
	first, _, _ := strings.Cut(src, "\n")
	set := map[string]int64{}
	for _, m := range regexp.MustCompile(`-p (\w+)=(-?\d+)`).FindAllStringSubmatch(first, -1) {
		v, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		set[m[1]] = v
	}
	return set
}

// annotate rewrites the comments of a bad spec twice, because the first time moves the lines that notes point at.
func annotate(t *testing.T, file, src string, diagnose func(*testing.T, string) *diag.Errors) {
	t.Helper()
	for range 2 {
		var bare []string
		place := map[int]int{0: 0} // line number with these comments -> line number without them
		for i, line := range strings.Split(src, "\n") {
			if expectation.MatchString(line) || detail.MatchString(line) {
				continue
			}
			bare = append(bare, line)
			place[i+1] = len(bare)
		}
		errs := diagnose(t, src)
		comments := map[int][]string{}
		for _, d := range errs.Items {
			head := "#" + strings.Repeat(" ", max(d.Pos.Col-2, 0)) + "^"
			at := place[d.Pos.Line]
			switch {
			case !d.Pos.IsValid():
				head, at = "#!", 1
			case d.Pos.Col < 2:
				head = "#<"
			}
			comments[at] = append(append(comments[at], fmt.Sprintf("%s %s: %s", head, d.Code, d.Message)), details(d)...)
		}
		var out []string
		for i, line := range bare {
			out = append(append(out, line), comments[i+1]...)
		}
		src = strings.Join(out, "\n")
	}
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

func manyMeshes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  m%d: {axes: {x: 2}}\n", i)
	}
	return b.String()
}

// TestBadTexts checks the errors of texts that testdata/errors cannot have: texts that are too large or have unusual
// characters, and texts that comments would change.
func TestBadTexts(t *testing.T) {
	head := "hirgen: 1\nname: p\n"
	tail := "tensors: {A: [8]}\nops: [B = relu(A)]\n"
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", `spec.yaml:1:1: error HG009: the spec is empty`},
		{"only a comment", "# nothing\n", `spec.yaml:1:1: error HG009: the spec is empty`},
		{"null", "null\n", `spec.yaml:1:1: error HG006: the spec is nothing, not a map (name: value)`},
		{"100 MB", strings.Repeat("# 16 bytes here\n", 100<<20/16), `spec.yaml: error HG002: the spec is larger than 1024 KiB`},
		{"1 MiB of brackets", strings.Repeat("[", 1<<20), `spec.yaml:1:1048576: error HG004: "[" is never closed`},
		{"deep", head + "doc: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n",
			`spec.yaml:3:21: error HG002: values are nested more than 16 deep`},
		{"many values", head + "doc: [" + strings.Repeat("1,", 250_000) + "1]\n",
			`spec.yaml:3:399991: error HG002: the spec has more than 200000 values`},
		{"alias bomb", bomb, `spec.yaml:1:4: error HG005: anchor "&a" is defined; a spec has no anchors`},
		{"merge key", head + "<<: {name: q}\n" + tail, `spec.yaml:3:1: error HG008: the spec has no field "<<"`},
		{"not UTF-8", head + "doc: \xff\n", `spec.yaml:3:6: error HG003: byte 0xff is not UTF-8 text`},
		{"UTF-16", "\xff\xfeh\x00", `spec.yaml:1:1: error HG003: byte 0xff is not UTF-8 text`},
		{"NUL", head + "doc: a\x00b\n", `spec.yaml:3:7: error HG003: control character U+0000 is not allowed`},
		{"escape sequence", head + "doc: \x1b[31m\n", `spec.yaml:3:6: error HG003: control character U+001B is not allowed`},
		{"old Mac line ends", "hirgen: 1\rname: p\r", `spec.yaml:1:10: error HG003: control character U+000D is not allowed`},
		{"line separator", head + "doc: a\u2028b\n", `spec.yaml:3:7: error HG003: control character U+2028 is not allowed`},
		{"unclosed double quote", head + "doc: \"a\n" + tail, `spec.yaml:3:6: error HG004: the quote " is never closed`},
		{"unclosed single quote", head + "doc: 'it''s\n" + tail, `spec.yaml:3:6: error HG004: the quote ' is never closed`},
		{"tag", head + "doc: !!binary aGk=\n" + tail, `spec.yaml:3:6: error HG005: tag "!!binary" is used; a spec has no tags`},
		{"Windows line ends", strings.ReplaceAll(head+"tensors: {A: [Q]}\nops: [B = relu(A)]\n", "\n", "\r\n"),
			`spec.yaml:3:15: error HG023: there is no parameter "Q"`},
		{"byte order mark", "\xef\xbb\xbfhirgen: 2\nname: p\n" + tail, `spec.yaml:1:12: error HG010: version "2" of the format is unknown`},
		{"after wide letters", head + "tensors: {A: [8]}\nops: [\"é = relu(Q)\"]\n",
			"spec.yaml:4:8: error HG020: \"é\" is not a name: it does not begin with a letter\nspec.yaml:4:18: error HG057: there is no " +
				"tensor \"Q\""},
		{"in a double quote", head + "tensors: {A: [\"8 +\\tQ\"]}\nops: [B = relu(A)]\n",
			`spec.yaml:3:21: error HG023: there is no parameter "Q"`},
		{"in a single quote", head + "tensors: {A: [8]}\nops: ['B = relu(Q)']\n", `spec.yaml:4:17: error HG057: there is no tensor "Q"`},
		{"in a folded line", head + "tensors: {A: [8]}\nops:\n  - B =\n      relu(Q)\n", `spec.yaml:6:12: error HG057: there is no tensor "Q"`},
		{"in a block", head + "tensors: {A: [8]}\nops:\n  - >-\n    B =\n    relu(Q)\n", `spec.yaml:7:10: error HG057: there is no tensor "Q"`},
		{"long message", head + "tensors: {A: [" + strings.Repeat("é+", 1_000) + "1]}\nops: [B = relu(A)]\n",
			"spec.yaml:3:15: error HG030: \"é\" stands where a number, a name or \"(\" should in \"" + strings.Repeat("é+", 49) + " ... " +
				strings.Repeat("+é", 32) + "+1\""},
		{"long expression", head + "tensors: {A: [" + strings.Repeat("1+", 10_000) + "1]}\nops: [B = relu(A)]\n",
			"spec.yaml:3:15: error HG030: an expression has at most 4096 characters, not 20001 in \"" + strings.Repeat("1+", 71) + "1 ... " +
				strings.Repeat("1+", 49) + "1\""},
		{"many meshes", head + "meshes:\n" + "  m: {axes: {x: 2}}\n" + manyMeshes(256) + tail,
			"spec.yaml:260:3: error HG041: there are more than 256 meshes"},
		{"deep expression", head + "tensors: {A: [" + strings.Repeat("(", 65) + "1" + strings.Repeat(")", 65) + "]}\nops: [B = relu(A)]\n",
			"spec.yaml:3:79: error HG030: parentheses are nested too deeply in \"" + strings.Repeat("(", 65) + "1" + strings.Repeat(")", 65) + "\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := model.Load("spec.yaml", []byte(c.src), nil)
			var errs *diag.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("not refused: %v", err)
			}
			if got := errs.Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLoadFileErrors(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yaml")
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(100<<20), f.Close()); err != nil { // a sparse file, which uses no disk space
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "error HG001: the spec cannot be read: no such file or directory",
		dir:                             "error HG001: the spec cannot be read: is a directory",
		huge:                            "error HG002: the spec is larger than 1024 KiB",
	} {
		_, _, err := model.LoadFile(path, nil)
		if err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestReportsHaveThePathAsTyped(t *testing.T) {
	_, err := model.Load("some/folder/spec.yaml", []byte("hirgen: 1\n"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "some/folder/spec.yaml:1:1: error HG009") {
		t.Error(err)
	}
}
