package explain_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/textdiff"
	"github.com/hirgen/hirgen/internal/tools/explain"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

var update = flag.Bool("update", false, "write testdata/allgather.html")

const specs = "../../../testdata/specs"

// collect makes the page of an example, with the predicted times of other schedules.
func collect(t *testing.T, name string) *explain.Page {
	t.Helper()
	return collectBy(t, name, true)
}

func collectBy(t *testing.T, name string, alternatives bool) *explain.Page {
	t.Helper()
	p, text, err := model.LoadFile(filepath.Join(specs, name, "spec.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	in := explain.Input{Text: text, Pipeline: p, Machine: machine, Options: lowering.Options{Verify: true}}
	if alternatives {
		in.Load = func(s ...model.Setting) (*model.Pipeline, error) { return model.Load(p.File, text, nil, s...) }
	}
	page, err := explain.Collect(in)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// written prints a page.
func written(t *testing.T, page *explain.Page) string {
	t.Helper()
	var b strings.Builder
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGoldenPage compares the body of a small page without alternatives. It leaves out styles and script, which come
// from the template unchanged.
func TestGoldenPage(t *testing.T) {
	text := written(t, collectBy(t, "allgather", false))
	from, to := strings.Index(text, "<body>"), strings.LastIndex(text, "<script>")
	if from < 0 || to < from {
		t.Fatal("the page has no body")
	}
	got := text[from:to]
	path := filepath.Join("testdata", "allgather.html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if changed := textdiff.Unified(path, string(want), got); changed != "" {
		t.Errorf("the page has changed; look at it, then go test ./internal/tools/explain -update\n%s", changed)
	}
}

// TestLinksLeadSomewhere checks the pages of all examples. Each link must lead to lines of the spec that exist. Each
// call with a position must have a line of the spec, and each wait a reason, a line of the spec and a line of C++. The
// tasks must be inside the drawing.
func TestLinksLeadSomewhere(t *testing.T) {
	list, err := filepath.Glob(filepath.Join(specs, "*", "spec.yaml"))
	if err != nil || len(list) == 0 {
		t.Fatal("no specs", err)
	}
	for _, spec := range list {
		name := filepath.Base(filepath.Dir(spec))
		page := collectBy(t, name, false)
		inSpec := func(what string, l explain.Line) {
			for _, n := range l.From {
				if n < 1 || n > len(page.Lines) || strings.TrimSpace(page.Lines[n-1].Text) == "" {
					t.Errorf("%s: line %d of %s leads to line %d of the spec, of %d", name, l.Number, what, n, len(page.Lines))
				}
			}
		}
		printed := map[int]bool{}
		linked := 0
		for _, source := range page.Sources {
			for _, l := range source.Lines {
				inSpec(source.Name, l)
				printed[l.Call] = true
				if strings.Contains(l.Text, page.Spec+":") && len(l.From) == 0 {
					t.Errorf("%s: %q leads nowhere", name, l.Text)
				}
				if len(l.From) > 0 {
					linked++
				}
			}
		}
		if linked == 0 {
			t.Errorf("%s: no line of the program leads to the spec", name)
		}
		for _, list := range page.Calls {
			for _, l := range list.Lines {
				inSpec("the calls", l)
				if l.Call > 0 && strings.Contains(l.Text, " @") && len(l.From) == 0 {
					t.Errorf("%s: %q leads nowhere", name, l.Text)
				}
			}
		}
		for _, w := range page.Waits {
			inSpec("the waits", w.Line)
			if w.Why == "" || len(w.From) == 0 {
				t.Errorf("%s: nobody knows why %q waits, or where it comes from", name, w.Text)
			}
			if !printed[w.Call] || w.Stream == "" {
				t.Errorf("%s: no line of the program is %q, or nothing says on which stream", name, w.Text)
			}
		}
		for _, n := range page.Graph.Nodes {
			inSpec("the graph", explain.Line{From: n.From})
			if n.X < 0 || n.X+n.W > page.Graph.Width || n.Y+n.H > page.Graph.Height {
				t.Errorf("%s: task %d stands outside of the drawing", name, n.Number)
			}
		}
	}
}

// TestReasons checks that a wait names the edge that it keeps, with the numbers that tasks have in the graph.
func TestReasons(t *testing.T) {
	page := collectBy(t, "ag_matmul", false)
	var got []string
	for _, w := range page.Waits {
		got = append(got, w.Stream+": "+w.Why)
	}
	want := []string{
		"x_.stream: hand-over: gather starts after earlier work of the issuing stream: its operand is there, and its result may be written",
		"compute: data: matmul into C_s (task 1) reads what allgather of A_all_s (task 0) writes",
		"caller: the caller may use C after the call",
	}
	if !slices.Equal(got, want) {
		t.Errorf("waits are for\n%s\nnot for\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := page.Graph.Nodes; len(n) != 2 || n[0].Name != "allgather of A_all_s" || n[1].Number != 1 {
		t.Errorf("the graph is %+v", n)
	}
}

// TestStagesAddUp checks that the changes of all passes, one after the other, make the calls that are printed.
func TestStagesAddUp(t *testing.T) {
	page := collect(t, "ag_matmul_auto")
	var lines []string
	for _, s := range page.Stages {
		if strings.HasSuffix(s.Name, " (fallback)") {
			break
		}
		next, after := 0, []string{}
		for _, e := range s.Edits {
			if e.Kind != '+' {
				if s.Name != "calls" && s.Name != "build" && lines[next] != e.Line {
					t.Fatalf("%s changes line %d, which is %q and not %q", s.Name, next, lines[next], e.Line)
				}
				next++
			}
			if e.Kind != '-' {
				after = append(after, e.Line)
			}
		}
		lines = after
	}
	got := strings.Join(lines, "\n")
	for _, l := range page.Calls[0].Lines {
		if !strings.Contains(got, strings.TrimSpace(l.Text)) {
			t.Errorf("the last pass has no line %q", l.Text)
		}
	}
}

// TestAlternatives checks that alternatives and GEMMs have plausible times. The schedule that auto chose must be
// predicted to take the same time when it is given in full, so that differences come from the changed field alone.
func TestAlternatives(t *testing.T) {
	for _, name := range []string{"ag_matmul", "ag_matmul_auto", "matmul_ar_sub_chunks"} {
		page := collect(t, name)
		if page.Skipped != "" || len(page.Choices) == 0 || len(page.Whole) == 0 {
			t.Fatalf("%s has no alternatives: %s", name, page.Skipped)
		}
		busy := 0.0
		for _, g := range page.GEMMs {
			busy += g.Time
			if share := g.OfPeak(); share <= 30 || share > 100 {
				t.Errorf("%s: a GEMM reaches %v %% of its peak", name, share)
			}
		}
		if call := page.Whole[0].Predicted - page.Whole[0].Difference; busy > call {
			t.Errorf("%s: GEMMs take %v us of a call of %v us", name, busy, call)
		}
		for _, c := range page.Choices {
			for _, a := range c.Others {
				if a.Name == c.Value || a.Refused == "" && (a.Predicted <= 0 || a.Predicted-a.Difference <= 0) {
					t.Errorf("%s: %s: %+v is no alternative to %s", name, c.Path, a, c.Value)
				}
			}
		}
	}
	page := collect(t, "ag_matmul_auto")
	if !strings.Contains(page.Basis, "measured") {
		t.Errorf("auto says nothing of its choice: %q", page.Basis)
	}
	for _, c := range page.Choices {
		if c.Path == "pipeline" && c.By != "auto" {
			t.Errorf("the pipeline is chosen by %s", c.By)
		}
	}
	// The schedule that auto chose by measurements, given in full.
	const chosen = "pipeline=p2p all.via=ipc-get streams=0 all.signals=batched"
	if !slices.ContainsFunc(page.Whole, func(a explain.Alternative) bool { return a.Name == "the schedule of the program" }) {
		t.Error("the program's own schedule is not among the others")
	}
	found := false
	for _, a := range page.Whole {
		if a.Name == chosen {
			found = true
			if a.Difference != 0 || a.Refused != "" {
				t.Errorf("what auto chose takes another time when it is given: %+v", a)
			}
		}
	}
	if !found {
		t.Errorf("no alternative is %s: %+v", chosen, page.Whole)
	}
}

// TestPageNeedsNothing checks that pages load nothing, and pages of large examples stay below 5 MB.
func TestPageNeedsNothing(t *testing.T) {
	loads := regexp.MustCompile(`(?i)https?://|<link|@import|\bsrc=|url\([^#]`)
	for _, name := range []string{"llama_block", "transformer_block_backward"} {
		text := written(t, collect(t, name))
		if found := loads.FindString(text); found != "" {
			t.Errorf("the page of %s has %q", name, found)
		}
		if len(text) > 5e6 {
			t.Errorf("the page of %s has %d bytes", name, len(text))
		}
	}
}
