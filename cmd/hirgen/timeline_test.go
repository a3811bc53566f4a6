package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimeline draws a prediction. A file that is not a trace is a usage error with a position.
func TestTimeline(t *testing.T) {
	folder := t.TempDir()
	trace, page, wrong := filepath.Join(folder, "trace.json"), filepath.Join(folder, "page.html"), filepath.Join(folder, "wrong.json")
	spec := "../../testdata/specs/ag_matmul/spec.yaml"
	if exit, _, text := hirgen(t, "", "check", spec, "--trace", trace); exit != exitOK {
		t.Fatal(exit, text)
	}
	exit, out, stderr := hirgen(t, "", "timeline", trace, trace, "--spec", spec, "-o", page)
	if want := "trace.json: Predicted on h200: "; exit != exitOK || strings.Count(out, want) != 2 ||
		!strings.Contains(out, "critical path: matmul into C") {
		t.Errorf("%d\n%s%s", exit, out, stderr)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "matmul into C") || !strings.Contains(string(text), "- C = matmul(A, B)") {
		t.Errorf("the page lacks a call or its line: %v", err)
	}
	if err := os.WriteFile(wrong, []byte("{\n  what"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, _, text := hirgen(t, "", "timeline", wrong, "-o", page); exit != exitUsage ||
		!strings.Contains(text, wrong+":2:4: not a trace of Chrome's form") {
		t.Errorf("%d\n%s", exit, text)
	}
	for _, args := range [][]string{{"timeline", trace}, {"timeline", "-o", page}} {
		if exit, _, _ := hirgen(t, "", args...); exit != exitUsage {
			t.Errorf("%v: %d", args, exit)
		}
	}
}
