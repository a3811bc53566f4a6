package timeline

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected files anew")

// TestTraces reads small traces of each origin and compares their analysis with a text: tracks and slices, sums, the
// computations that hide transfers, the critical path.
func TestTraces(t *testing.T) {
	for _, path := range traces(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			trace := read(t, path)
			trace.analyse()
			golden(t, strings.TrimSuffix(path, ".json")+".txt", describe(trace))
		})
	}
}

// TestPage compares the page and the summary of two traces with files in testdata, and checks that the page refers to
// no other file and escapes names.
func TestPage(t *testing.T) {
	var got, summary bytes.Buffer
	list := []*Trace{read(t, "testdata/measured.json"), read(t, "testdata/cross.json")}
	sources := Sources{}
	sources.Add("folder/spec.yaml", strings.Repeat("\n", 11)+"  - C = matmul(A, B)\n")
	if err := Page(&got, list, sources); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/page.html", got.String())
	Text(&summary, list)
	golden(t, "testdata/summary.out", summary.String())
	for _, address := range []string{"http:", "https:", "//cdn", "src=", "@import", "Relu of <R>"} {
		if strings.Contains(got.String(), address) {
			t.Errorf("the page has %q", address)
		}
	}
}

// TestCompared checks that the measured trace takes the bytes of transfers from the prediction below it, and the page
// states the speedup of the prediction.
func TestCompared(t *testing.T) {
	list := []*Trace{read(t, "testdata/measured.json"), read(t, "testdata/measured.json")}
	list[1].Predicted, list[1].Call = true, list[0].Call/2
	list[1].all(func(s *Slice) { s.Bytes = 2_000_000 })
	var page strings.Builder
	if err := Page(&page, list, nil); err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{">get: receive of A, 2 MB, 200 GB/s<": 2,
		"29.5 us a call, 2.00 times as fast as testdata/measured.json": 1} {
		if n := strings.Count(page.String(), text); n != times {
			t.Errorf("%d times %s, not %d", n, text, times)
		}
	}
}

// TestErrors checks that Read refuses input that is not a trace, and names the position of an error in the JSON.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "x:1:1: not a trace of Chrome's form: unexpected end of JSON input",
		"{\n  \"traceEvents\": [,]}": "x:2:20: not a trace of Chrome's form: invalid character ',' looking for beginning of value",
		`{"traceEvents": 3}`: "x:1:18: not a trace of Chrome's form: json: cannot unmarshal number into Go struct field " +
			"file.traceEvents of type []timeline.event",
		`{"traceEvents": []}`:                "x: no call on a stream of a device",
		`[{"ph":"X","cat":"cpu_op","ts":1}]`: "x: no call on a stream of a device",
		`[{"ph":"X","cat":"gemm","name":"a","ts":1,"dur":99999999999999999999}]`: `x: event 0, "a": strconv.ParseInt: parsing ` +
			`"99999999999999999999000": value out of range`,
		"\x1f\x8bnot packed": "x: gzip: invalid header",
	} {
		if _, err := Read("x", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}

// TestPacked checks that a trace packed with gzip, as PyTorch's profiler writes it, reads like the unpacked trace.
func TestPacked(t *testing.T) {
	text, err := os.ReadFile("testdata/pytorch.json")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace, err := Read("testdata/pytorch.json", &packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(describe(read(t, "testdata/pytorch.json")), describe(trace)); diff != "" {
		t.Error(diff)
	}
}

func traces(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("testdata/*.json")
	if err != nil || len(list) < 4 {
		t.Fatal(list, err)
	}
	return list
}

func read(t *testing.T, path string) *Trace {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	trace, err := Read(path, file)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; rewrite with -update):\n%s", path, diff)
	}
}

// describe returns the analysis of a trace as text.
func describe(trace *Trace) string {
	var text strings.Builder
	fmt.Fprintln(&text, trace.about())
	for _, r := range trace.Ranks {
		fmt.Fprintf(&text, "%s: %+v\n", r.Name, r.Sums)
		for _, track := range r.Tracks {
			fmt.Fprintf(&text, "  %s\n", track.Name)
			for _, s := range track.Slices {
				fmt.Fprintf(&text, "    %s\n", describeSlice(s))
			}
		}
	}
	for _, step := range trace.Path {
		fmt.Fprintf(&text, "path: %s after %s: %s for %s", step.rank.Name, step.Gap, step.Name, step.Length())
		if step.Last != step.Slice {
			fmt.Fprintf(&text, " since %s came", step.Last.rank.Name)
		}
		fmt.Fprintln(&text)
	}
	return text.String() + trace.pathText() + "\n"
}

func describeSlice(s *Slice) string {
	words := []string{fmt.Sprintf("%d-%d %s %q", s.Begin, s.End, s.Kind, s.Name)}
	for _, word := range []string{s.Where, s.Detail} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.Lane > 0 {
		words = append(words, fmt.Sprintf("lane %d", s.Lane))
	}
	if s.Kind.Moves() {
		words = append(words, fmt.Sprintf("exposed %s, behind [%s]", s.Exposed, listed(s.Behind, 9)))
	}
	for _, from := range s.from {
		words = append(words, fmt.Sprintf("from %q", from.Name))
	}
	return strings.Join(words, "; ")
}
