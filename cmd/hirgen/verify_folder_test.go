package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyFolder changes emitted folders, and checks the output and exit code of verify.
func TestVerifyFolder(t *testing.T) {
	const wait, first = "StreamWait(event after_allgather_A_, index s,", "StreamWait(event after_allgather_A_, index 0,"
	for _, c := range []struct {
		name, file, old, replacement string
		exit                         int
		want                         string
	}{
		{"as written", "", "", "", exitOK, "the sources agree with these calls"},
		{"another event", "ag_matmul.cpp",
			"cudaStreamWaitEvent(compute, after_allgather_A_[s]", "cudaStreamWaitEvent(compute, after_allgather_A_[0]",
			exitEdited,
			"edited: 1 line\n  has:    HG_CHECK(cudaStreamWaitEvent(compute, after_allgather_A_[0]"},
		{"a runtime that was touched", "runtime/include/hirgen/error.hpp", "#pragma once\n", "", exitEdited,
			"edited: lines are missing, the first is: #pragma once"},
		{"a Go package that was edited", "go/example/main.go", "BF16(1)", "BF16(2)", exitEdited, "go/example/main.go:"},
		{"calls that race", "calls.txt", wait, first, exitNotProved, "error: races: NcclCall kAllgatherA s=1"},
		{"calls that the sources are not printed from", "calls.txt", "text \"spec.yaml:12:5 matmul into C\"", "text \"something else\"",
			exitEdited, "calls.txt: edited since it was written"},
		{"no calls", "calls.txt", "", "", exitEnvironment, "calls.txt"},
		{"no manifest", "hirgen.manifest.json", "", "", exitEnvironment, "it has no hirgen.manifest.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			if exit, _, stderr := hirgen(t, "", "emit", agMatmul, "-o", out, "-p", "S=2", "--schedule", "streams=2", "--go"); exit != exitOK {
				t.Fatal(stderr)
			}
			change(t, filepath.Join(out, filepath.FromSlash(c.file)), c.old, c.replacement)
			exit, stdout, stderr := hirgen(t, "", "verify", out)
			if exit != c.exit || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit %d, want %d with %q:\n%s%s", exit, c.exit, c.want, stdout, stderr)
			}
		})
	}
}

// change replaces text in a file. If old is empty, it removes the file. If path is a folder or missing, it does
// nothing.
func change(t *testing.T, path, old, replacement string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return
	}
	if old == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFolderTakesNoSettings(t *testing.T) {
	if exit, _, stderr := hirgen(t, "", "verify", t.TempDir(), "-p", "S=2"); exit != exitUsage ||
		!strings.Contains(stderr, "has its own settings") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
}
