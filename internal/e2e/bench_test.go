package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/bench"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestBench times a schedule and a baseline in alternating rounds, keeps measured rows, times a peer, and reports why a
// program that ends at once was not measured.
func TestBench(t *testing.T) {
	t.Setenv("HIRGEN_CACHE", cacheFolder())
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	sweeps := []bench.Sweep{{Field: "streams", Values: []string{"2", "none"}}}
	sizes := map[string]int64{"M": 64, "N": 32, "K": 32}
	cases, err := bench.Cases("../../testdata/specs/ag_matmul/spec.yaml", nil, sizes, nil, sweeps, "eager")
	if err != nil {
		t.Fatal(err)
	}
	measured := func(change func(*bench.Options)) (result bench.Result, lines []string) {
		o := bench.Options{
			Ranks: 2, Device: launch.CPU, Work: folder{"bench"}.dir(), Rounds: 2, Repeats: 3, Iters: 2, Together: 8,
			CMake:    []string{"CMAKE_CXX_FLAGS_RELEASE=" + flags},
			Done:     func(row bench.Row) error { result.Rows = append(result.Rows, row); return nil },
			Progress: func(_, _ int, next string) { lines = append(lines, next) },
		}
		change(&o)
		if err := bench.Run(t.Context(), cases, o); err != nil {
			t.Fatal(err)
		}
		return result, lines
	}

	first, _ := measured(func(*bench.Options) {})
	want := []bench.Status{bench.OK, bench.OK, bench.Waived}
	for i, row := range first.Rows {
		if row.Status != want[i] || row.Status == bench.OK &&
			(row.Median <= 0 || row.Products <= 0 || row.Against <= 0 || len(row.Repeats) != 6) {
			t.Errorf("%+v", row)
		}
	}
	if len(first.Rows) != len(want) {
		t.Fatalf("%d rows", len(first.Rows))
	}

	unchecked, _ := measured(func(o *bench.Options) { o.Arguments = []string{"--no-check"} })
	if first.Rows[0].Unchecked || !unchecked.Rows[0].Unchecked {
		t.Errorf("what was checked: %+v; what was not: %+v", first.Rows[0], unchecked.Rows[0])
	}

	again, lines := measured(func(o *bench.Options) { o.Kept = first.Kept })
	if slices.ContainsFunc(lines, func(line string) bool { return line != "" }) || again.Rows[1].Median != first.Rows[1].Median {
		t.Errorf("what was measured is measured again: %q", lines)
	}

	beside, _ := measured(func(o *bench.Options) {
		o.Peers = `echo '{"peers": ["other"]}'; while read -r name; do echo '{"us": [0.001]}'; done`
	})
	if rows := beside.Rows; len(rows) != len(want)+1 || !rows[3].Peer || len(rows[3].Repeats) != 2 || rows[0].AgainstPeer <= 0 ||
		rows[0].AgainstPeer > 1 {
		t.Errorf("with a peer: %+v", rows)
	}

	broken, _ := measured(func(o *bench.Options) { o.Arguments = []string{"--no-such-option"} })
	if row := broken.Rows[0]; row.Status != bench.Failed || !strings.Contains(row.Reason, "--no-such-option") {
		t.Errorf("a program that ends at once: %+v", row)
	}
}

// TestTune times two schedules and auto on the CPU device: the winner is one of the two, and all results are correct.
func TestTune(t *testing.T) {
	t.Setenv("HIRGEN_CACHE", cacheFolder())
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	spec, sizes := "../../testdata/specs/ag_matmul/spec.yaml", map[string]int64{"D": 2, "M": 64, "N": 32, "K": 32}
	found := bench.Candidates(spec, sizes, 2, machine)[:2]
	tuned, err := bench.Tune(t.Context(), spec, sizes, found, bench.Options{
		Device: launch.CPU, Work: folder{"bench"}.dir(), Repeats: 3, Iters: 2,
		CMake: []string{"CMAKE_CXX_FLAGS_RELEASE=" + flags},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tuned.Rows) != 3 || tuned.Winner.Name() != found[0].Name() && tuned.Winner.Name() != found[1].Name() {
		t.Errorf("%+v", tuned)
	}
	for _, row := range tuned.Rows {
		if row.Status != bench.OK || row.Median <= 0 {
			t.Errorf("%+v", row)
		}
	}
}
