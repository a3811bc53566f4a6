package schedules

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/schedule"
)

func TestNearestCountsDoublings(t *testing.T) {
	line := func(m int64) measurement {
		return measurement{problem: problem{operation: "x", dtype: "bf16", ranks: 4, m: m, n: 1, k: 1}}
	}
	list := []measurement{line(64), line(1024)}
	for m, want := range map[int64]int64{1: 64, 255: 64, 257: 1024, 1 << 40: 1024} {
		p := line(m).problem
		if got := nearest(list, p, schedule.Schedule{}); got.m != want {
			t.Errorf("of 64 and 1024, %d is nearest to %d", got.m, m)
		}
	}
	if got := nearest(list, problem{operation: "y"}, schedule.Schedule{}); got != nil {
		t.Errorf("another operation's line %v", got)
	}
}

func TestParseMeasurements(t *testing.T) {
	for source, want := range map[string]string{
		"operation\tus":                           "the columns are",
		measurementColumns + "\n" + "ag_matmul":   "1 columns, not 8",
		replaced("bf16", "bf8"):                   `no element type "bf8"`,
		replaced("4\t8", "4\t0"):                  `"0" is no size`,
		replaced("1.5", "soon"):                   `"soon" is no time`,
		replaced("preset eager", "preset"):        `"preset" is no choice`,
		replaced("preset eager", "colour red"):    `"colour red" is no choice`,
		replaced("preset eager", "all.split two"): `"all.split two" is no choice`,
		replaced("preset eager", "graph perhaps"): `"graph perhaps" is no choice`,
	} {
		if _, err := parseMeasurements(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error that has %q, got %v", source, want, err)
		}
	}
	if list, err := parseMeasurements("# a comment\n" + replaced("", "")); err != nil || len(list) != 1 {
		t.Errorf("a good table gives %v, %v", list, err)
	}
}

// replaced returns a table with one valid line, in which the first occurrence of old is replaced.
func replaced(old, with string) string {
	const line = "ag_matmul\tbf16\t4\t8\t8\t8\t1.5\tpreset eager"
	return measurementColumns + "\n" + strings.Replace(line, old, with, 1) + "\n"
}
