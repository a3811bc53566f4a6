package model

import (
	"slices"
	"testing"
)

// TestUnusedResults checks that a result may be unused if another result of its operation is used, and that no primitive
// operation computes only unused results.
func TestUnusedResults(t *testing.T) {
	for _, c := range []struct{ name, ops, unused string }{
		{"top_k", "[\"V, I = top_k(X, k=2)\", \"Y = neg(I)\"]", "V"},
		{"top_k of one", "[\"V, I = top_k(X, k=1)\", \"Y = neg(V)\"]", "I"},
		{"split", "[\"A, B = split(X, axis=1, sizes=[2, 6])\", \"Y = neg(B)\"]", "A"},
		{"quantize", "[\"Q, S = quantize(X, dtype=fp8_e4m3)\", \"Y = neg(S)\"]", "Q"},
		{"an output", "[\"V, Y = top_k(X, k=2)\"]", "V"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustLoad(t, "hirgen: 1\nname: p\ndtype: fp32\ntensors: {X: [4, 8]}\nops: "+c.ops+
				"\noutputs: [Y]\nschedule: {pipeline: collective}\n")
			if slices.ContainsFunc(p.Tensors, func(t *Tensor) bool { return t.Name == c.unused }) {
				t.Errorf("%s is still a tensor", c.unused)
			}
			if len(p.Outputs) != 1 || p.Outputs[0].Name != "Y" {
				t.Errorf("outputs are %v", p.Outputs)
			}
			read := map[*Tensor]bool{p.Outputs[0]: true}
			for _, op := range slices.Backward(p.Ops) {
				if !read[op.Out] {
					t.Errorf("nothing reads %s", op.Out.Name)
				}
				for _, in := range op.In {
					read[in] = true
				}
			}
		})
	}
}
