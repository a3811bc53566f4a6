package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

// cutSpecs lists pipelines in which sub-chunks do not split the first axis of every tensor.
var cutSpecs = []struct{ name, tensors, ops, steps string }{
	{
		"a result that lies the other way round",
		"A: [DIDx, 6, 4], B: [4, 4], H: [Stream(D), 6, 4], C: [Stream(D), 4, 6]",
		"H = matmul(A, B), 'C = permute(H, perm=[0, 2, 1])'", "rotation ring",
	},
	{
		"an operand with one element for all batches",
		"A: [DIDx, D, 6, 4, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4, 4], C: [r(D), DIDx, 6, 4, 4]",
		"Bb = broadcast(B, axis=1), Bc = broadcast(Bb, axis=2), P = matmul(A, Bc), C = sum(P, axis=0)", "rotation ring",
	},
	{
		"batches outside of the slices",
		"A: [DIDx, 6, D, 4, 2], B: [DIDx, 2, 4], P: [DIDx, 6, Stream(D), 4, 4], C: [r(D), 6, DIDx, 4, 4]",
		"Bb = broadcast(B, axis=1), Bc = broadcast(Bb, axis=2), P = matmul(A, Bc), C = sum(P, axis=0)", "rotation ring",
	},
	{
		"one batch outside of the slices",
		"A: [DIDx, 1, D, 12, 2], B: [DIDx, 2, 4], P: [DIDx, 1, Stream(D), 12, 4], C: [r(D), 1, DIDx, 12, 4]",
		"Bb = broadcast(B, axis=1), Bc = broadcast(Bb, axis=2), P = matmul(A, Bc), C = sum(P, axis=0)", "rotation ring",
	},
	{
		"what is summed, and then gathered, in batches",
		"A: [DIDx, D, 6, 4, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4, 4], R: [r(D), DIDx, 6, 4, 4], C: [Stream(D), 6, 4, 4]",
		"Bb = broadcast(B, axis=1), Bc = broadcast(Bb, axis=2), P = matmul(A, Bc), R = sum(P, axis=0), C = set(R)", "rotation ring",
	},
}

func TestCutSlicesKeepTheResult(t *testing.T) {
	t.Parallel()
	for _, s := range cutSpecs {
		for steps := range strings.FieldsSeq(s.steps) {
			for n, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
				for _, sums := range []string{"none", "gemm"} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", s.name, steps, transport, sums), func(t *testing.T) {
						p := lowertest.Pipeline(t, 2, s.tensors, s.ops)
						choose(&p.Schedule, "pipeline p2p, all.steps "+steps, "all.via "+transport, "all.fuse "+sums, fmt.Sprint("all.split ", n+1))
						fit(p)
						followPasses(t, p, lowertest.NewOracle(t, p, 3))
						if steps == "rotation" && strings.Contains(s.ops, "sum") {
							choose(&p.Schedule, "all.split 3, all.interchange true", []string{"", "all.block 2"}[n%2])
							fit(p)
							followPasses(t, p, lowertest.NewOracle(t, p, 4))
						}
					})
				}
			}
		}
	}
}

// sharedSpecs lists pipelines that exchange for several operations, or whose partial sums are views or have another
// reader.
var sharedSpecs = []struct{ name, tensors, ops, steps string }{
	{
		"two sums",
		"A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], E: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], Q: [DIDx, Stream(D), 6, 4], " +
			"C: [r(D), DIDx, 6, 4], F: [r(D), DIDx, 6, 4]",
		"Bb = broadcast(B, axis=1), Eb = broadcast(E, axis=1), P = matmul(A, Bb), Q = matmul(A, Eb), C = sum(P, axis=0), F = sum(Q, axis=0)",
		"rotation ring",
	},
	{
		"what is gathered, and then summed",
		"A: [DIDx, 6, 2], B: [DIDx, 2, 4], H: [DIDx, Stream(D), 6, 4], W: [DIDx, 4, 2], P: [DIDx, Stream(D), 6, 2], C: [r(D), DIDx, 6, 2]",
		"Bb = broadcast(B, axis=1), H = matmul(A, Bb), G = relu(H), Wb = broadcast(W, axis=1), P = matmul(G, Wb), C = sum(P, axis=0)",
		"rotation ring",
	},
	{
		"what is summed while something else is gathered",
		"A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], C: [r(D), DIDx, 6, 4], E: [DIDx, 6, 4], F: [Stream(D), 6, 4]",
		"Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0), F = set(E)", "rotation ring",
	},
	{
		"two reductions of the same parts",
		"A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], C: [r(D), DIDx, 6, 4], F: [r(D), DIDx, 6, 4]",
		"Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0), F = max(P, axis=0)", "rotation",
	},
	{
		"parts that are a view",
		"A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], V: [DIDx, Stream(D), 6, 2, 2], C: [r(D), DIDx, 6, 2, 2]",
		"Bb = broadcast(B, axis=1), P = matmul(A, Bb), V = reshape(P), C = sum(V, axis=0)", "rotation ring",
	},
	{
		"parts that something else reads, later",
		"A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], C: [r(D), DIDx, 6, 4], F: [DIDx, D, 4, 6]",
		"Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0), F = permute(P, perm=[0, 1, 3, 2])", "rotation",
	},
}

func TestExchangesShareAPipeline(t *testing.T) {
	t.Parallel()
	for _, s := range sharedSpecs {
		for steps := range strings.FieldsSeq(s.steps) {
			for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
				for i, form := range [][3]string{{"none", "none", "in-place"}, {"gemm", "all", "copied"}} {
					if !inTurn(i, 2, len(s.name), len(transport), len(steps)) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", s.name, steps, transport, form), func(t *testing.T) {
						p := lowertest.Pipeline(t, 3, s.tensors, s.ops)
						choose(&p.Schedule, "pipeline p2p, all.steps "+steps, "all.via "+transport, "all.fuse "+form[0], "all.lead "+form[1],
							"local_shard "+form[2])
						fit(p)
						followPasses(t, p, lowertest.NewOracle(t, p, 3))
						whole := p.Schedule
						choose(&p.Schedule, "all.split 2")
						followPasses(t, p, lowertest.NewOracle(t, p, 4))
						if steps == "rotation" {
							choose(&p.Schedule, "all.split 3, all.interchange true")
							fit(p)
							followPasses(t, p, lowertest.NewOracle(t, p, 4))
							wide := lowertest.Pipeline(t, 4, s.tensors, s.ops)
							wide.Schedule = whole
							choose(&wide.Schedule, "all.block 2")
							followPasses(t, wide, lowertest.NewOracle(t, wide, 5))
							choose(&wide.Schedule, "all.split 2, all.interchange true", gemms(1+int64(len(transport)%2), 4))
							fit(wide)
							followPasses(t, wide, lowertest.NewOracle(t, wide, 6))
						}
					})
				}
			}
		}
	}
}

// TestSlicesThatCannotBeCut checks the errors for slices that cannot be split, because a statement needs all sub-chunks
// at once, or because the sub-chunks would not be equal. Each error has to be reported once.
func TestSlicesThatCannotBeCut(t *testing.T) {
	for _, c := range []struct{ tensors, ops, want string }{
		{
			"A: [DIDx, 6, 4], B: [4, 4], H: [Stream(D), 6, 4], C: [Stream(D), 4]", "H = matmul(A, B), C = sum(H, axis=1)",
			"H is made sub-chunk by sub-chunk along axis 1 (6), and this needs all sub-chunks of it at once",
		},
		{
			"A: [DIDx, 7, 4], B: [4, 4], C: [Stream(D), 7, 4]", "C = matmul(A, B)",
			"7 elements along an axis of a copy of A cannot be cut into 2 equal sub-chunks",
		},
	} {
		p := lowertest.Pipeline(t, 2, c.tensors, c.ops)
		choose(&p.Schedule, "pipeline p2p, all.via ipc-get, all.split 2")
		_, err := Host(p, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "HG082") != 1 {
			t.Errorf("%v, not once %q", err, c.want)
		}
	}
}
