package recall

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/recall/faults"
)

// TestMistakesInTables checks that each mistake is found by exactly the judges in its row, and not by the lowering
// alone, and that docs/verification.md has the row. internal/e2e tests the judges log and run, which need the CPU
// device.
func TestMistakesInTables(t *testing.T) {
	page, err := os.ReadFile("../../../docs/verification.md")
	if err != nil {
		t.Fatal(err)
	}
	list := faults.Tables()
	for _, f := range list {
		found, err := judgeTable("../../..", f, 2)
		if err != nil {
			t.Fatal(err)
		}
		inProcess := slices.DeleteFunc(slices.Clone(f.FoundBy), func(judge string) bool { return judge == "log" || judge == "run" })
		if !slices.Equal(found, inProcess) || len(f.FoundBy) == 0 || slices.Equal(f.FoundBy, []string{"lowering"}) {
			t.Errorf("%s: %s: found by %s, and not %s", f.Table, f.Mistake, strings.Join(found, ", "), strings.Join(f.FoundBy, ", "))
		}
		if row := "| " + f.Table + ": " + f.Mistake + " | " + strings.Join(f.FoundBy, ", ") + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/verification.md lacks the row\n%s", row)
		}
	}
	if len(list) < 30 {
		t.Errorf("%d mistakes", len(list))
	}
}

// judgeTable returns the judges that find a mistake in a table: the lowering, results of the interpreter, the proof, or
// the values. All of them read the faulty table. The interpreter compares with whole tensors, and the values with the
// model.
func judgeTable(root string, f *faults.TableFault, orders uint64) (found []string, err error) {
	s, refused, err := Faulty(root, f.Example, f)
	if err != nil {
		return nil, err
	}
	defer f.Seed()()
	add := func(judge string, finds bool) {
		if finds {
			found = append(found, judge)
		}
	}
	add("lowering", refused != nil)
	effect, _ := s.Judge(s.Program, orders)
	add("results", effect != None)
	add("proof", check(Prove, s, s.Program) != nil)
	add("values", check(Values, s, s.Program) != nil)
	return found, nil
}
