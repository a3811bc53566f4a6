package prove

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls/text"
)

var update = flag.Bool("update", false, "write what is found into the cases")

// TestCases proves programs, most of them with mistakes. A case names a program of testdata, and the changes to its lines: a line
// "- old", then lines "+ new". The expected report follows "---".
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			edits, want, _ := strings.Cut(string(source), "---\n")
			p, err := text.Parse("case.calls", edited(t, edits))
			if err != nil {
				t.Fatal(err)
			}
			report, err := Program(p)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			report.Text(&got)
			if *update {
				if err := os.WriteFile(path, []byte(edits+"---\n"+got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// edited returns the program of a case. Lines with "+" replace the line with "-" before them.
func edited(t *testing.T, edits string) string {
	t.Helper()
	var program, old, by string
	replace := func() {
		if old != "" && !strings.Contains(program, old) {
			t.Fatalf("the program has no line %q", old)
		}
		program = strings.Replace(program, old, by, 1)
		old, by = "", ""
	}
	for _, line := range strings.Split(strings.TrimRight(edits, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "base "):
			source, err := os.ReadFile(filepath.Join("testdata", line[len("base "):]+".calls"))
			if err != nil {
				t.Fatal(err)
			}
			program = string(source)
		case strings.HasPrefix(line, "- "):
			replace()
			old = line[2:] + "\n"
		case strings.HasPrefix(line, "+ ") && old != "":
			by += line[2:] + "\n"
		default:
			t.Fatalf("a case has no line %q", line)
		}
	}
	replace()
	return program
}
