package emit_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// TestSourcesAreWhatIsRendered checks that the lines are the same with and without the source map, and that every
// statement with a label has lines.
func TestSourcesAreWhatIsRendered(t *testing.T) {
	for _, name := range folders(t, specsDir) {
		program := loadExample(t, name)
		rendered := map[string]string{}
		for _, f := range render(t, program) {
			rendered[f.Path] = string(f.Data)
		}
		sources, err := sourcesOf(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			var text strings.Builder
			printed := map[calls.Stmt]bool{}
			for _, line := range s.Lines {
				text.WriteString(line.Text + "\n")
				printed[line.Stmt] = true
			}
			if got, want := text.String(), rendered[s.Path]; got != want {
				t.Errorf("%s: the lines are not those of the program:\n%s", s.Path,
					firstDifference(strings.Split(got, "\n"), strings.Split(want, "\n")))
			}
			calls.Walk(s.Program.Body, func(stmt calls.Stmt) bool {
				if stmt.Meta().Label != "" && !printed[stmt] {
					t.Errorf("%s: no line comes from %s", s.Path, calls.Op(stmt))
				}
				return true
			})
		}
	}
}

// sourcesOf lowers a host program and returns its variants, line by line.
func sourcesOf(p *hostir.Program) ([]emit.Source, error) {
	lowered, err := lowering.Calls(p, lowering.Options{})
	if err != nil {
		return nil, err
	}
	return emit.Sources(lowered, emit.Options{})
}
