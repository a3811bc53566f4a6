package interp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
)

const wholeKernels = `program p from "spec.yaml"
mesh world: x = 2, ranks 0..1
tensor A: bf16 [DIDx(2), 3], mesh world, input
tensor B: bf16 [2, 3], mesh world, output
tensor S: fp32 [2], mesh world, output
tensor C: bf16 [3], mesh world, output
tensor V: bf16 [2, 2], mesh world, output
tensor P: int32 [2, 2], mesh world, output

B, S = Fused(sum_add, A): also S = sum(A), T = add(A, S), B = neg(T)
C = Fused(mul_sum, A): D = mul(A, A), C = sum_rows(D)
V, P = TopK(A)
`

// TestKernelsOfWholeTensors interprets kernels of several steps, and a TopK, on a tensor whose rows are on different
// ranks.
func TestKernelsOfWholeTensors(t *testing.T) {
	p, err := text.Parse("p.hir", wholeKernels)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Program(p); err != nil {
		t.Fatal(err)
	}
	inputs := []map[string]*Array{
		{"A": {Shape: []int64{1, 3}, Data: []float64{1, 2, 3}}}, {"A": {Shape: []int64{1, 3}, Data: []float64{6, 5, 4}}},
	}
	got, err := Run(p, inputs, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{
		"B": {-7, -8, -9, -21, -20, -19}, "S": {6, 15}, "C": {37, 29, 25}, "V": {3, 2, 6, 5}, "P": {2, 1, 0, 1},
	}
	for rank, results := range got {
		values := map[string][]float64{}
		for name, a := range results {
			values[name] = a.Data
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("rank %d: -want +got:\n%s", rank, diff)
		}
	}
}
