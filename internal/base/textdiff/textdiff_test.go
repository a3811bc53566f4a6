package textdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	if got := Unified("a", "x\n", "x\n"); got != "" {
		t.Errorf("the same texts differ: %s", got)
	}
	want := "--- a\n+++ a, formatted\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -7,4 +7,3 @@\n 7\n 8\n 9\n-10\n\\ No newline at end of file\n"
	if got := Unified("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"); !strings.HasPrefix(got, want[:60]) ||
		strings.Count(got, "@@ -") != 2 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestPatchReadsIt checks that the program patch turns the first text into the second.
func TestPatchReadsIt(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch")
	}
	for _, c := range [][2]string{
		{"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n", "a\nc\nd\nE\nf\ng\nh\ni\nj\nk\nl\nm\nn\n"},
		{"", "a\n"}, {"a\nb", "a\nb\n"}, {"a\n\n\nb\n", "a\n\nb\n"},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(c[0]), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", file)
		cmd.Stdin = strings.NewReader(Unified("f", c[0], c[1]))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c[1] {
			t.Errorf("%q became %q, not %q: %v", c[0], got, c[1], err)
		}
	}
}
