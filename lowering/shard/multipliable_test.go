package shard_test

import (
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/shard"
)

// TestMovedOperandsAreMultiplied moves operands with the layouts of views: a summed axis outside of the batches, matrices
// with gaps, and a bias stored by columns.
func TestMovedOperandsAreMultiplied(t *testing.T) {
	for _, c := range [][2]string{
		{"A: [6, 2, 2, DIDx], B: [2, 6, 5], C: [2, 2, DIDx, 5]", "T = permute(A, perm=[1, 3, 2, 0]), C = matmul(T, B)"},
		{"A: [4, DIDx, 8], B: [DIDx, 8, 4, 5], C: [2, 4, DIDx, 5]", "T = permute(B, perm=[0, 2, 1, 3]), C = matmul(A, T)"},
		{"A: [2, 4, 6], W: [2, 5, 6], b: [5, DIDx], C: [2, Stream(4), 5]", "T = permute(b, perm=[1, 0]), C = linear(A, W, T)"},
	} {
		p := lowertest.Pipeline(t, 2, c[0], c[1])
		program, err := lowering.Host(p, lowering.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		check := lowertest.NewOracle(t, p, 3).Orders(program)
		for seed := range uint64(2) {
			if err := check(seed); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range program.Body {
			if second, _ := hostir.SecondOperand(s); second == nil {
				continue
			}
			for k := range 2 {
				if !shard.Multipliable(s, k) {
					t.Errorf("%s: operand %d does not lie as a product reads it", c[1], k)
				}
			}
		}
	}
}
