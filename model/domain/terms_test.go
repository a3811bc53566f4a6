package domain

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContractions follows sums through what products read, and what reads products.
func TestContractions(t *testing.T) {
	shapes := map[string][]int64{
		"A": {6, 10}, "At": {10, 6}, "W": {4, 10}, "B": {10, 4}, "v": {4}, "C": {6, 4}, "P": {2, 3, 4}, "Pt": {3, 2, 4}, "S": {3, 4},
	}
	product := Operation{Kind: "matmul", In: []string{"A", "B"}, Out: "C"}
	for name, c := range map[string]struct {
		ops  []Operation
		want map[string]Terms
	}{
		"a product": {[]Operation{product}, map[string]Terms{"A": {1, 1}, "B": {0, 1}}},
		"a linear with a bias": {
			[]Operation{{Kind: "linear", In: []string{"A", "W", "v"}, Out: "C"}}, map[string]Terms{"A": {1, 1}, "W": {1, 1}},
		},
		"through movements": {
			[]Operation{
				{Kind: "set", In: []string{"A0"}, Out: "A1"}, {Kind: "permute", In: []string{"A1"}, Out: "At"},
				{Kind: "permute", In: []string{"At"}, Out: "A"}, product,
			},
			map[string]Terms{"A0": {-1, 10}, "A1": {-1, 10}, "At": {-1, 10}, "A": {1, 1}, "B": {0, 1}},
		},
		"with sums that follow": {
			[]Operation{
				product, {Kind: "reshape", In: []string{"C"}, Out: "P"}, {Kind: "permute", In: []string{"P"}, Out: "Pt"},
				{Kind: "reduce", Fn: "sum", In: []string{"Pt"}, Out: "S", Axis: 1}, {Kind: "reduce", Fn: "sum", In: []string{"S"}, Out: "v"},
			},
			map[string]Terms{"A": {1, 6}, "B": {0, 6}},
		},
		"a maximum adds nothing": {
			[]Operation{product, {Kind: "reduce", Fn: "max", In: []string{"C"}, Out: "v"}}, map[string]Terms{"A": {1, 1}, "B": {0, 1}},
		},
		"the longest sum": {
			[]Operation{
				{Kind: "matmul", In: []string{"At", "A"}, Out: "Q"}, {Kind: "linear", In: []string{"A", "W"}, Out: "C"},
			},
			map[string]Terms{"At": {1, 1}, "A": {1, 1}, "W": {1, 1}},
		},
		"what a function makes is another tensor": {
			[]Operation{{Kind: "unary", Fn: "relu", In: []string{"A0"}, Out: "A"}, product}, map[string]Terms{"A": {1, 1}, "B": {0, 1}},
		},
	} {
		got := Contractions(c.ops, func(tensor string) []int64 { return shapes[tensor] })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTermsOf(t *testing.T) {
	for _, c := range []struct {
		terms Terms
		want  int64
	}{{Terms{-1, 7}, 7}, {Terms{1, 7}, 35}, {Terms{1, math.MaxInt64 / 4}, math.MaxInt64}} {
		if got := c.terms.Of([]int64{3, 5}); got != c.want {
			t.Errorf("%+v are %d, want %d", c.terms, got, c.want)
		}
	}
}

// TestContractionsVisitsOnce: views of views and many readers cost one look at each
// operation.
func TestContractionsVisitsOnce(t *testing.T) {
	const n = 5000
	ops := []Operation{}
	for i := range n {
		ops = append(ops, Operation{Kind: "permute", In: []string{fmt.Sprint(i)}, Out: fmt.Sprint(i + 1)},
			Operation{Kind: "matmul", In: []string{fmt.Sprint(i + 1), "B"}, Out: "C"})
	}
	looks := 0
	Contractions(ops, func(string) []int64 { looks++; return []int64{2, 2} })
	if limit := 10 * len(ops); looks > limit {
		t.Errorf("%d operations took %d looks at a shape, more than %d", len(ops), looks, limit)
	}
}
