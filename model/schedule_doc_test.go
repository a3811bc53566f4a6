package model_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/schedule"
)

// The tables of the schedule in docs/spec.md are written from the table in the code.
func TestSpecPageHasTheScheduleTable(t *testing.T) {
	const page, begin, end = "../docs/spec.md", "<!-- from model/schedule -->\n\n", "\n<!-- up to here -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), begin)
	tables, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatal("docs/spec.md has no place for the tables of the schedule")
	case tables == schedule.Markdown():
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+schedule.Markdown()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables of the schedule in docs/spec.md are not current: run go test ./model -run ScheduleTable -update")
	}
}
