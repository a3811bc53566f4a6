package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRegenerateLineRunsAsPrinted removes a file of an emitted folder, and types what its README and the head of
// each source say.
func TestRegenerateLineRunsAsPrinted(t *testing.T) {
	source := read(t, agMatmul)
	for _, spec := range []string{"my spec.yaml", "-"} {
		t.Run(spec, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("my spec.yaml", []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			if exit, _, stderr := hirgen(t, source, "emit", spec, "-o", out, "--no-verify", "-p", "S=2", "--schedule", "all.lead=1", "--go",
				"--go-module", "example.com/a"); exit != exitOK {
				t.Fatal(stderr)
			}
			t.Chdir(out)
			header := regexp.MustCompile(`To regenerate: (.*)`).FindStringSubmatch(read(t, "ag_matmul.h"))
			readme := regexp.MustCompile("in this folder: `(.*)`").FindStringSubmatch(read(t, "README.md"))
			if header == nil || readme == nil || header[1] != readme[1] {
				t.Fatalf("the README says %q and the header %q", readme, header)
			}
			if err := os.Remove("ag_matmul.cpp"); err != nil {
				t.Fatal(err)
			}
			exit, stdout, stderr := hirgen(t, "", words(t, readme[1])[1:]...)
			if exit != exitOK || !strings.HasPrefix(stdout, "wrote 1 of ") {
				t.Errorf("%s: exit code %d, want one file to be written:\n%s%s", readme[1], exit, stdout, stderr)
			}
		})
	}
}

// words are those of a command line, as a shell reads it.
func words(t *testing.T, line string) []string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
