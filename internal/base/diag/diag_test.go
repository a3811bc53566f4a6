package diag

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func render(src string, list *List) string {
	var b strings.Builder
	errs, ok := Diagnostics(fmt.Errorf("loading: %w", list.Err()))
	if !ok {
		return "no diagnostics"
	}
	Render(&b, errs, func(file string) ([]byte, bool) { return []byte(src), file == "spec.yaml" })
	return b.String()
}

func TestRender(t *testing.T) {
	at := func(line, col int) Pos { return Pos{File: "spec.yaml", Line: line, Col: col} }
	for _, c := range []struct {
		name, src string
		fill      func(*List)
		want      string
	}{
		{"hint and notes", "a: 1\nb: [é, x]\r\n", func(l *List) {
			l.Add(at(2, 8), UnknownParam, "there is no parameter %q", "x").WithHint("did you mean %q?", "y").
				AddNote(at(1, 1), "first").AddNote(Pos{}, "x = 3 comes from the command line")
		}, `spec.yaml:2:8: error HG023: there is no parameter "x"
    b: [é, x]
          ^
  hint: did you mean "y"?
  note: spec.yaml:1:1: first
  note: x = 3 comes from the command line
`},
		{"sorted", "a\nb\n", func(l *List) {
			l.Add(at(2, 1), BadName, "second")
			l.Add(at(1, 1), BadName, "first")
			l.Add(Pos{File: "other.yaml", Line: 1, Col: 1}, BadName, "of a file that is not there")
		}, `other.yaml:1:1: error HG020: of a file that is not there
spec.yaml:1:1: error HG020: first
    a
    ^
spec.yaml:2:1: error HG020: second
    b
    ^
`},
		{"tabs", "\tx: \tq\n", func(l *List) { l.Add(at(1, 6), BadName, "m") },
			"spec.yaml:1:6: error HG020: m\n    \tx: \tq\n    \t   \t^\n"},
		{"no column", "a\n", func(l *List) { l.Add(at(1, 0), BadName, "m") }, "spec.yaml:1: error HG020: m\n    a\n"},
		{"no line", "a\n", func(l *List) { l.Add(Pos{File: "spec.yaml"}, BadName, "m") }, "spec.yaml: error HG020: m\n"},
		{"past the end", "a\n", func(l *List) { l.Add(at(9, 9), BadName, "m"); l.Add(at(1, 9), BadName, "m") },
			"spec.yaml:1:9: error HG020: m\n    a\n     ^\nspec.yaml:9:9: error HG020: m\n"},
		{"terminal escapes", "a\x1b[31m\n", func(l *List) {
			l.Add(at(1, 1), BadName, "m")
		}, "spec.yaml:1:1: error HG020: m\n    a?[31m\n    ^\n"},
		{"a long line", strings.Repeat("a", 500) + "X" + strings.Repeat("b", 500), func(l *List) { l.Add(at(1, 501), BadName, "m") },
			"spec.yaml:1:501: error HG020: m\n    " + strings.Repeat("a", 60) + "X" + strings.Repeat("b", 59) + "\n    " +
				strings.Repeat(" ", 60) + "^\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list List
			c.fill(&list)
			if diff := cmp.Diff(c.want, render(c.src, &list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRenderStopsAfterMany(t *testing.T) {
	var list List
	for i := range 1000 {
		list.Add(Pos{File: "x", Line: i + 1}, BadName, "m")
	}
	text := render("", &list)
	if n := strings.Count(text, "\n"); n != maxRendered+1 || !strings.HasSuffix(text, "... and 950 more errors\n") {
		t.Errorf("%d lines, the end is %q", n, text[len(text)-40:])
	}
}

func TestMessagesAreBounded(t *testing.T) {
	var list List
	d := list.Add(Pos{}, BadName, "%s", strings.Repeat("é", 1000))
	if len(d.Message) > maxMessage+10 || strings.ContainsRune(d.Message, '\uFFFD') {
		t.Errorf("%q", d.Message)
	}
}

func TestEmptyListIsNoError(t *testing.T) {
	var list List
	if err := list.Err(); err != nil {
		t.Error(err)
	}
	if _, ok := Diagnostics(fmt.Errorf("of another kind")); ok {
		t.Error("an error of another kind has diagnostics")
	}
}

func TestRename(t *testing.T) {
	var list List
	list.Add(Pos{File: "a.yaml", Line: 1}, BadName, "m").AddNote(Pos{File: "a.yaml", Line: 2}, "n").AddNote(Pos{File: "b.go", Line: 3}, "o")
	errs, _ := Diagnostics(list.Err())
	errs.Rename("a.yaml", "dir/a.yaml")
	d := errs.Items[0]
	got := []string{d.Pos.String(), d.Notes[0].Pos.String(), d.Notes[1].Pos.String()}
	if diff := cmp.Diff([]string{"dir/a.yaml:1", "dir/a.yaml:2", "b.go:3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCodes(t *testing.T) {
	form := regexp.MustCompile(`^HG\d{3}$`)
	last := Code("")
	for _, e := range Entries() {
		if !form.MatchString(string(e.Code)) || e.Code <= last {
			t.Errorf("%s follows %s", e.Code, last)
		}
		last = e.Code
		if e.Title == "" || strings.HasSuffix(e.Title, ".") || !strings.HasSuffix(e.Text, ".") {
			t.Errorf("%s: title %q, text %q", e.Code, e.Title, e.Text)
		}
	}
	if text := Explain("hg031"); !strings.HasPrefix(text, "HG031: a division has a remainder\n") ||
		!strings.Contains(text, "    params: {M: 8, S: 3}\n") {
		t.Errorf("%q", text)
	}
	if text := Explain("HG999"); text != "" {
		t.Errorf("HG999 is explained: %q", text)
	}
}
