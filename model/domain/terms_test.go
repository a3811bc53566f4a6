package domain

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContractions checks the lengths of the sums of GEMMs whose operands were moved before, or whose results are
// summed later.
func TestContractions(t *testing.T) {
	m, k, n, d := Extent{"M", 6}, Extent{"K", 10}, Extent{Size: 4}, Extent{"D", 2}
	shapes := map[string][]Extent{
		"A": {m, k}, "At": {k, m}, "W": {n, k}, "B": {k, n}, "v": {n}, "C": {m, n},
		"P": {d, {"M/D", 3}, n}, "Pt": {{"M/D", 3}, d, n}, "S": {{"M/D", 3}, n},
	}
	ofK := Terms{10, []Extent{k}}
	ofSums := Terms{60, []Extent{k, d, {"M/D", 3}}}
	product := Operation{Kind: "matmul", In: []string{"A", "B"}, Out: "C"}
	for name, c := range map[string]struct {
		ops  []Operation
		want map[string]Terms
	}{
		"a product": {[]Operation{product}, map[string]Terms{"A": ofK, "B": ofK}},
		"a linear with a bias": {
			[]Operation{{Kind: "linear", In: []string{"A", "W", "v"}, Out: "C"}}, map[string]Terms{"A": ofK, "W": ofK},
		},
		"through movements": {
			[]Operation{
				{Kind: "set", In: []string{"A0"}, Out: "A1"}, {Kind: "permute", In: []string{"A1"}, Out: "At"},
				{Kind: "permute", In: []string{"At"}, Out: "A"}, product,
			},
			map[string]Terms{"A0": ofK, "A1": ofK, "At": ofK, "A": ofK, "B": ofK},
		},
		"with sums that follow": {
			[]Operation{
				product, {Kind: "reshape", In: []string{"C"}, Out: "P"}, {Kind: "permute", In: []string{"P"}, Out: "Pt"},
				{Kind: "reduce", Fn: "sum", In: []string{"Pt"}, Out: "S", Axis: 1}, {Kind: "reduce", Fn: "sum", In: []string{"S"}, Out: "v"},
			},
			map[string]Terms{"A": ofSums, "B": ofSums},
		},
		"a maximum adds nothing": {
			[]Operation{product, {Kind: "reduce", Fn: "max", In: []string{"C"}, Out: "v"}}, map[string]Terms{"A": ofK, "B": ofK},
		},
		"the longest sum": {
			[]Operation{
				{Kind: "matmul", In: []string{"At", "A"}, Out: "Q"}, {Kind: "linear", In: []string{"A", "W"}, Out: "C"},
			},
			map[string]Terms{"At": {6, []Extent{m}}, "A": ofK, "W": ofK},
		},
		"what a function makes is another tensor": {
			[]Operation{{Kind: "unary", Fn: "relu", In: []string{"A0"}, Out: "A"}, product}, map[string]Terms{"A": ofK, "B": ofK},
		},
	} {
		got := Contractions(c.ops, func(tensor string) []Extent { return shapes[tensor] })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTermsTimes(t *testing.T) {
	m, k, most := Extent{"M", 6}, Extent{"K", 10}, Extent{Size: math.MaxInt64}
	for _, c := range []struct {
		factors []Extent
		want    Terms
	}{
		{nil, Terms{Size: 1}},
		{[]Extent{m, {"D/D", 1}, k}, Terms{60, []Extent{m, k}}},
		{[]Extent{m, most, k}, Terms{math.MaxInt64, []Extent{most}}},
	} {
		if diff := cmp.Diff(c.want, one.times(c.factors...)); diff != "" {
			t.Errorf("%v: -want +got:\n%s", c.factors, diff)
		}
	}
}

// TestContractionsVisitsOnce checks that Contractions asks for at most ten shapes per operation in a long chain of permutes,
// each with a reader.
func TestContractionsVisitsOnce(t *testing.T) {
	const n = 5000
	ops := []Operation{}
	for i := range n {
		ops = append(ops, Operation{Kind: "permute", In: []string{fmt.Sprint(i)}, Out: fmt.Sprint(i + 1)},
			Operation{Kind: "matmul", In: []string{fmt.Sprint(i + 1), "B"}, Out: "C"})
	}
	looks := 0
	Contractions(ops, func(string) []Extent { looks++; return []Extent{{Size: 2}, {Size: 2}} })
	if limit := 10 * len(ops); looks > limit {
		t.Errorf("%d operations took %d looks at a shape, more than %d", len(ops), looks, limit)
	}
}
