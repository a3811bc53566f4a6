package passes

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls/text"
)

var update = flag.Bool("update", false, "store what the passes make of the cases")

// between separates the text before a pass from the text after it.
const between = "\n---- after\n"

// TestPasses runs a pass on each file under testdata, which is named after the pass. The file contains a program before
// and after the pass. A second run has to change nothing.
func TestPasses(t *testing.T) {
	seen := map[string]bool{}
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), ".")
		seen[name] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, want, _ := strings.Cut(string(data), between)
			got := after(t, name, before)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
				if *update {
					if err := os.WriteFile(file, []byte(before+between+got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if again := after(t, name, got); again != got {
				t.Errorf("a second run changes it (-first +second):\n%s", cmp.Diff(got, again))
			}
		})
	}
	for _, pass := range Passes {
		if !seen[pass.Name] {
			t.Errorf("pass %s has no case", pass.Name)
		}
	}
}

// after parses a program, runs the pass with a name, and returns the text of the result.
func after(t *testing.T, name, program string) string {
	t.Helper()
	p, err := text.Parse("case", program)
	if err != nil {
		t.Fatal(err)
	}
	for _, pass := range Passes {
		if pass.Name == name {
			pass.Run(p)
		}
	}
	return text.Print(p)
}
