package model_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestSpecPageHasTheTables checks that docs/spec.md has the tables of operations and of the schedule, or with -update
// writes them.
func TestSpecPageHasTheTables(t *testing.T) {
	const page = "../docs/spec.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := current(t, string(data), "model/schedule", schedule.Markdown())
	for name, table := range model.OpTables() {
		want = current(t, want, "model, "+name, table)
	}
	switch {
	case string(data) == want:
	case *update:
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables in docs/spec.md are not current: run go test ./model -run SpecPageHasTheTables -update")
	}
}

// current returns the page with text between the HTML comments that mark the place of its origin.
func current(t *testing.T, page, origin, text string) string {
	t.Helper()
	begin, end := "<!-- from "+origin+" -->\n\n", "\n<!-- up to here -->"
	before, rest, _ := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("docs/spec.md has no place for the tables from %s", origin)
	}
	return before + begin + text + end + after
}
