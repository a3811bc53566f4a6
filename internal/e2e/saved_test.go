package e2e

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model/eval"
)

// TestSavedInputsAreTheModels dumps the inputs that a check passes to a backward pass, and compares them with the
// model's. A forward pass computes saved inputs from the others, unless they are loaded from a file.
func TestSavedInputsAreTheModels(t *testing.T) {
	const spec = `
hirgen: 1
name: backward
mesh: {x: 2}
dtype: fp32
tensors:
  U: [DIDx, 1, 16, 8]
  G: [DIDx, 1, 16, 8]
  O: [DIDx, 16, 1, 8]
  L: [DIDx, 1, 16]
ops:
  - Q = gelu(U)
  - Or = permute(O, perm=[0, 2, 1, 3])
  - dQ, dK, dV = attention_grad(G, Q, U, U, Or, L, causal=true)
outputs: [dQ, dK, dV]
`
	pipeline := shared.emit(t, spec, nil)
	program := shared.build(t)
	dir := t.TempDir()
	dumped := func(name string) string { return filepath.Join(dir, name+".dumped") }
	args := append([]string{"--seed", "5"}, brief...)
	for _, in := range pipeline.Inputs {
		args = append(args, "--dump", in.Name+"="+dumped(in.Name))
	}
	inputs := eval.Fill(pipeline, 5+1) // the inputs of the second call
	compare := func(inputs map[string]*eval.Array) {
		t.Helper()
		for _, in := range pipeline.Inputs {
			got, want := readSafetensors(t, dumped(in.Name), in.Name, in.DType), inputs[in.Name]
			for i, v := range got.Data {
				if math.Abs(v-want.Data[i]) > 1e-5*(1+math.Abs(want.Data[i])) {
					t.Fatalf("element %d of %s is %g, want %g", i, in.Name, v, want.Data[i])
				}
			}
		}
	}
	run(t, launch.Options{Program: program, N: 2, Args: args}).mustPass(t)
	compare(inputs)

	for i := range inputs["O"].Data {
		inputs["O"].Data[i] = 1
	}
	file := filepath.Join(dir, "O.safetensors")
	writeSafetensors(t, file, "O", pipeline.Inputs[2].DType, inputs["O"])
	run(t, launch.Options{Program: program, N: 2, Args: append(args, "--load", "O="+file)}).mustPass(t)
	compare(inputs)
}
