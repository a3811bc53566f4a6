package interp

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
)

const meshes = `program p from "spec.yaml"
mesh world: x = 4, ranks 0..3
mesh left: x = 2, ranks 0..1
mesh right: x = 2, ranks 3 1
mesh one: x = 1, ranks 2
mesh and_one: x = 3, ranks 3 1 2
streams 1
tensor A: bf16 [DIDx(2), 2], mesh left, input
tensor W: bf16 [2], mesh one, input
tensor B: bf16 [DIDx(2), 2], mesh right, output
tensor V: bf16 [2], mesh right, output
tensor R: bf16 [DIDx(2), 2], mesh right, output

B = Allocate
V = Allocate
R = Allocate
s = Communication(SendRecv, mesh left, in A, out B, NCCL)
Wait(s)
b = Communication(Broadcast, mesh and_one axis x, root 2, in W, out V, NCCL)
Wait(b)
R = Unary(neg, B)
`

// TestMeshesSayWhoRunsAStatement interprets transfers between meshes that overlap. Rank 1
// sends to itself, and rank 2 takes part in a broadcast without having the result.
func TestMeshesSayWhoRunsAStatement(t *testing.T) {
	p, err := text.Parse("p.hir", meshes)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Program(p); err != nil {
		t.Fatal(err)
	}
	inputs := []map[string]*Array{
		{"A": {Shape: []int64{1, 2}, Data: []float64{1, 2}}}, {"A": {Shape: []int64{1, 2}, Data: []float64{3, 4}}},
		{"W": {Shape: []int64{2}, Data: []float64{5, 6}}}, {},
	}
	for seed := range uint64(20) {
		got, err := Run(p, inputs, seed)
		if err != nil {
			t.Fatal(err)
		}
		values := []string{}
		for _, rank := range got {
			line := ""
			for _, name := range []string{"B", "V", "R"} {
				if rank[name] != nil {
					line += fmt.Sprint(name, rank[name].Data)
				}
			}
			values = append(values, line)
		}
		want := []string{"", "B[3 4]V[5 6]R[-3 -4]", "", "B[1 2]V[5 6]R[-1 -2]"}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}

// TestPermutedViewsStepThroughTheBuffer reads matrices by columns, through a view that depends on the
// iteration.
func TestPermutedViewsStepThroughTheBuffer(t *testing.T) {
	source := `program p from "spec.yaml"
mesh world: x = 1, ranks 0
streams 1
tensor A: bf16 [2, 2, 3], mesh world, input
tensor A_s: bf16 [2, 3], mesh world, view
tensor At_s: bf16 [3, 2], mesh world, view, layout [1, 0]
tensor C: bf16 [2, 3, 2], mesh world, output
tensor C_s: bf16 [3, 2], mesh world, view

C = Allocate
For s in 2:
  A_s = Select(A, axis 0, index s)
  At_s = Permute(A_s, perm [1, 0])
  C_s = Select(C, axis 0, index s)
  C_s = Unary(neg, At_s)
`
	p, err := text.Parse("p.hir", source)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Program(p); err != nil {
		t.Fatal(err)
	}
	in := []map[string]*Array{{"A": {Shape: []int64{2, 2, 3}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}}
	got, err := Run(p, in, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{-1, -4, -2, -5, -3, -6, -7, -10, -8, -11, -9, -12}, got[0]["C"].Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
