package domain

import (
	"slices"
	"testing"
)

// TestFoldsOfBlocks checks the steps that fold blocks: their spellings, their values, and which values are the same in
// all columns of a block.
func TestFoldsOfBlocks(t *testing.T) {
	for fn, known := range map[string]bool{"max_blocks(16)": true, "sum_blocks(128)": true, "max_blocks(8)": false, "max_blocks(24)": false,
		"max_blocks(256)": false, "max_blocks": false, "neg_blocks(16)": false} {
		if got := (Step{Fn: fn, Args: []int{0}}).Known(); got != known {
			t.Errorf("%s is known: %t, want %t", fn, got, known)
		}
	}
	b, ok := ParseBody("m = max_blocks(16, X), h = scale(0.5, m), r = sum(X), g = mul(h, r), Y = sub(X, g)", []string{"X"})
	if !ok || b.Block() != 16 {
		t.Fatalf("%v, blocks of %d", b, b.Block())
	}
	if got, want := b.InBlocks([]bool{true}), []bool{true, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("the same in a block: %v, want %v", got, want)
	}
	row := make([]float64, 32)
	row[3], row[20], row[31] = 4, 6, -2
	values := b.Row([][]float64{row}, 32, nil)
	for c, want := range map[int64]float64{0: 2 * 8, 1: 3 * 8} {
		if got := Stored(values[4], c, 2); got != want {
			t.Errorf("block %d: %g, want %g", c, got, want)
		}
	}
	if got := values[5][20]; got != 6-24 {
		t.Errorf("column 20: %g, want %d", got, 6-24)
	}
}
