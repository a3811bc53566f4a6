package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestFusedKernelsInEveryPipeline checks norms and chains of elementwise operations, some of which pipelines slice, or
// split into sub-chunks. Something has to be fused, and the results have to equal the model's.
func TestFusedKernelsInEveryPipeline(t *testing.T) {
	for name, c := range map[string][3]string{
		"between a product and its sum": {
			"X: [DIDx, 2, 3], W: [DIDx, 3, 4], V: [DIDx, 4, 3], U: [Stream(D), 1, 2, 3], P: [Stream(D), DIDx, 2, 3], Y: [DIDx, r(D), 2, 3], k: [4]",
			"G = reshape(X, shape=[D, 1, 2, 3]), U = set(G), Z = matmul(U, W), A = gelu(Z), B = mul(A, k), P = matmul(B, V), Y = sum(P, axis=1)",
			"pipeline p2p, all.split 2",
		},
		"a norm before a gather": {
			"X: [Stream(2), DIDx, 2, 4], g: [4], U: [Stream(2), DIDx, 2, 4], Y: [Stream(2), D, 2, 4]",
			"N = rms_norm(X, g), S = silu(N), U = mul(S, X), Y = set(U)", "streams 2",
		},
		"a row to one value": {
			"X: [DIDx, 2, 4], E: [DIDx, 2, 4], Y: [D, 2]",
			"M = mul(X, E), L = sum(M, axis=2), Y = set(L)", "streams 0",
		},
		"the same positions along two axes": {
			"X: [DIDx, 3, 4]", "a = positions(X, axis=2), b = broadcast(a, axis=1), t = gt(a, b), Y = matmul(X, t)", "streams 0",
		},
	} {
		for _, d := range []int64{1, 2, 3} {
			p := lowertest.Pipeline(t, d, c[0], c[1])
			t.Run(name, func(t *testing.T) {
				choose(&p.Schedule, c[2])
				keepsResult(t, p, 3)
				program, err := Host(p, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if !hostir.Any(program.Body, func(s hostir.Stmt) bool { _, is := s.(*hostir.Fused); return is }) {
					t.Error("nothing is fused")
				}
			})
		}
	}
}
