package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestCandidates checks that the spec accepts each found schedule, that they are distinct and sorted by predicted
// time, and that the search finds a faster schedule than the default.
func TestCandidates(t *testing.T) {
	m, err := cost.LoadMachine(defaultMachine)
	if err != nil {
		t.Fatal(err)
	}
	spec, params := "../../../testdata/specs/ag_matmul_p2p/spec.yaml", map[string]int64{"D": 4}
	found := Candidates(spec, params, 4, m)
	names := map[string]bool{}
	for i, c := range found {
		names[c.Name()] = true
		if i > 0 && c.Predicted < found[i-1].Predicted {
			t.Errorf("%s is behind a slower one", c.Name())
		}
		p, _, err := model.LoadFile(spec, params, c.Settings...)
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		if _, err := lowering.Host(p, lowering.Options{Verify: true}); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	if len(names) != len(found) || len(found) < 10 {
		t.Errorf("%d names of %d schedules", len(names), len(found))
	}
	plain := slices.IndexFunc(found, func(c Candidate) bool { return len(c.Settings) == 1 })
	if plain >= 0 && found[0].Predicted >= found[plain].Predicted {
		t.Errorf("%s is predicted to take %v us, and %s as long", found[0].Name(), found[0].Predicted, found[plain].Name())
	}
}

// TestHalving checks that the slower half leaves, but not auto, and that a winner beyond the spread of the others
// ends the race.
func TestHalving(t *testing.T) {
	racing := func(list ...Row) (turns []*turn) {
		for _, row := range list {
			one := &turn{program: &program{row: row}, running: &paced{}}
			if row.Status == Failed {
				one.running = nil
			}
			turns = append(turns, one)
		}
		return turns
	}
	labels := func(turns []*turn) string {
		var words []string
		for _, t := range turns {
			words = append(words, t.row.Label)
		}
		return strings.Join(words, " ")
	}
	row := func(label string, low, high float64) Row {
		return Row{Case: Case{Label: label}, P10: low, Median: (low + high) / 2, P90: high}
	}
	failed := row("e", 1, 1)
	failed.Status = Failed
	for _, c := range []struct {
		racing      []*turn
		stay, leave string
		decided     bool
	}{
		{racing(row("a", 1, 3), row("b", 2, 4), row("c", 3, 5), row(auto, 8, 9)), "a b " + auto, "c", false},
		{racing(row(auto, 1, 2), row("a", 2, 3), row("b", 4, 5)), auto + " a", "b", true},
		{racing(row("a", 1, 2), row("b", 3, 4), failed), "a b", "e", true},
		{racing(row("a", 1, 2), row(auto, 1.5, 4)), "a " + auto, "", true},
	} {
		stay, leave := cutHalf(c.racing)
		if labels(stay) != c.stay || labels(leave) != c.leave {
			t.Errorf("of %q, %q stay and %q leave", labels(c.racing), labels(stay), labels(leave))
		}
		if decided(stay) != c.decided {
			t.Errorf("%q is decided: %v", labels(stay), !c.decided)
		}
	}
}

// TestSizes checks that the size parameter is a number of rows, not of ranks, slices or columns.
func TestSizes(t *testing.T) {
	for name, want := range map[string]string{
		"ag_matmul": "M=4096,8192,16384", "llama_mlp": "M=2048,4096,8192", "matmul_rs_p2p": "M=4096,8192,16384",
	} {
		p, _, err := Load("../../../testdata/specs/"+name+"/spec.yaml", nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		if s := Sizes(p); s.Field+"="+strings.Join(s.Values, ",") != want {
			t.Errorf("%s grows by %v, and should by %s", name, s, want)
		}
	}
}

// TestBought checks that a gain counts if the spreads of the two rows do not overlap.
func TestBought(t *testing.T) {
	base := Row{P10: 9, Median: 10, P90: 11}
	for _, c := range []struct {
		row    Row
		gain   float64
		beyond bool
	}{
		{Row{P10: 7, Median: 8, P90: 8.5}, 1.25, true},
		{Row{P10: 7, Median: 8, P90: 9.5}, 1.25, false},
		{Row{P10: 12, Median: 20, P90: 21}, 0.5, true},
	} {
		if gain, beyond := Bought(c.row, base); gain != c.gain || beyond != c.beyond {
			t.Errorf("%v: %v, %v", c.row, gain, beyond)
		}
	}
}
