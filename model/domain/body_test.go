package domain_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

func parsed(t *testing.T, text string, operands ...string) domain.Body {
	t.Helper()
	b, ok := domain.ParseBody(text, operands)
	if !ok {
		t.Fatalf("%s is no body of %v", text, operands)
	}
	if got := b.Text(operands); got != text {
		t.Errorf("%s prints as %s", text, got)
	}
	return b
}

func TestBodyOfElements(t *testing.T) {
	b := parsed(t, "G = relu(Z), H = scale(0.5, G), A = mul(H, U)", "Z", "U")
	got := last(b.Row([][]float64{{2, -2, 4}, {1, 1, 3}}, 3, nil))
	if want := []float64{1, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestBodyOfRows subtracts the mean of a row, which applies to all its columns, and computes a log-sum-exp, whose values
// are rounded to fp32.
func TestBodyOfRows(t *testing.T) {
	b := parsed(t, "s = sum(X), mean = scale(0.25, s), c = sub(X, mean), Y = mul(c, g)", "X", "g")
	if rows := b.Rows([]bool{true, true}); !slices.Equal(rows, []bool{true, true, false, false, true, true}) {
		t.Errorf("rows %v", rows)
	}
	got := last(b.Row([][]float64{{1, 2, 3, 6}, {1, 1, 2, 2}}, 4, nil))
	if want := []float64{-2, -1, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	narrow := parsed(t, "e = exp(X), s = sum(e), l = log(s)", "X")
	if rows := narrow.Rows([]bool{true}); !slices.Equal(rows, []bool{true, true, false, false}) {
		t.Errorf("rows %v", rows)
	}
	if got := last(narrow.Row([][]float64{{0, 0}}, 2, nil)); got[0] != float64(float32(math.Log(2))) {
		t.Errorf("%v is not log 2 in fp32", got)
	}
}

// TestBodyOfPositions concatenates two halves: A times the index along the third-last axis times the column, and B times
// the sum of the first half.
func TestBodyOfPositions(t *testing.T) {
	b := parsed(t, "at = positions(2), c = positions(0), angle = mul(at, c), low = mul(A, angle), also s = sum(low), high = mul(B, s), Y = "+
		"concat(low, high)", "A", "B")
	if rows := b.Rows([]bool{true, true}); !slices.Equal(rows, []bool{true, true, false, true, true, true, false, true, true}) {
		t.Errorf("rows %v", rows)
	}
	if results := b.Results(); !slices.Equal(results, []int{6, 4}) {
		t.Errorf("results %v", results)
	}
	values := b.Row([][]float64{{1, 2, 3}, {1, 1, 2}}, 3, func(back int) int64 { return int64(back) + 1 })
	if got, want := last(values), []float64{0, 6, 18, 24, 24, 48}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestBodyOfColumns checks a body whose last step folds columns, by max, with two rows.
func TestBodyOfColumns(t *testing.T) {
	b := parsed(t, "y = mul(X, r), m = max_rows(y)", "X", "r")
	if fn, folds := b.FoldsColumns(); fn != "max" || !folds {
		t.Errorf("folds columns by %q: %t", fn, folds)
	}
	if rows := b.Rows([]bool{true, false}); !slices.Equal(rows, []bool{true, false, true, true}) {
		t.Errorf("rows %v", rows)
	}
	var folded []float64
	for _, row := range [][][]float64{{{1, -2}, {3}}, {{2, 1}, {1}}} {
		folded = b.FoldIn(domain.Singles, folded, last(b.Row(row, 2, nil)))
	}
	if want := []float64{3, 1}; !slices.Equal(folded, want) {
		t.Errorf("%v, not %v", folded, want)
	}
}

func last(values [][]float64) []float64 { return values[len(values)-1] }

func TestBodiesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "G", "G = silu", "G = silu(A)", "G = nothing(Z)", "G = mul(Z)", "G = silu(Z) H = silu(Z)",
		"G = mul(Z, Z, Z)", "G = positions(Z)", "G = sum_rows(Z, Z)", "G = prod_rows(Z)", "G = positions(-1)", "G = concat(0.5, Z)"} {
		if b, ok := domain.ParseBody(text, []string{"Z"}); ok {
			t.Errorf("%q is read as %v", text, b)
		}
	}
}
