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
	got := b.Row([][]float64{{2, -2, 4}, {1, 1, 3}})
	if want := []float64{1, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// A norm: what folds a row stands for all of its columns; values between are fp32.
func TestBodyOfRows(t *testing.T) {
	b := parsed(t, "s = sum(X), mean = scale(0.25, s), c = sub(X, mean), Y = mul(c, g)", "X", "g")
	if rows := b.Rows([]bool{true, true}); !slices.Equal(rows, []bool{true, true, false, false, true, true}) {
		t.Errorf("rows %v", rows)
	}
	got := b.Row([][]float64{{1, 2, 3, 6}, {1, 1, 2, 2}})
	if want := []float64{-2, -1, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	narrow := parsed(t, "e = exp(X), s = sum(e), l = log(s)", "X")
	if rows := narrow.Rows([]bool{true}); !slices.Equal(rows, []bool{true, true, false, false}) {
		t.Errorf("rows %v", rows)
	}
	if got := narrow.Row([][]float64{{0, 0}}); got[0] != float64(float32(math.Log(2))) {
		t.Errorf("%v is not log 2 in fp32", got)
	}
}

func TestBodiesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "G", "G = silu", "G = silu(A)", "G = nothing(Z)", "G = mul(Z)", "G = silu(Z) H = silu(Z)", "G = mul(Z, Z, Z)"} {
		if b, ok := domain.ParseBody(text, []string{"Z"}); ok {
			t.Errorf("%q is read as %v", text, b)
		}
	}
}
