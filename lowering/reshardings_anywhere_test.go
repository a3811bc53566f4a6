package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestReshardingsAnywhere checks unusual operands, results and meshes that passes could confuse with usual ones. Each
// case has meshes, tensors, operations and a schedule.
func TestReshardingsAnywhere(t *testing.T) {
	for _, c := range []struct{ name, meshes, tensors, ops, schedule string }{
		{"the split rows and sum of one operand", "mesh: {y: 2}", "A: [2, DIDy]", "T = matmul(A, A)", ""},
		{"one operand, its rows are summed", "mesh: {x: 3}", "A: [DIDx, 3]", "T = matmul(A, A)", "reshard: after"},
		{"split columns of one operand", "mesh: {x: 1}", "A: [1, 1], T: [1, DIDx]", "T = matmul(A, A)", ""},
		{"split columns of a square", "mesh: {x: 2}", "A: [2, 2], T: [2, DIDx]", "T = linear(A, A)", ""},
		{"batches of one operand", "mesh: {x: 4}", "A: [1, DIDx, 1]", "T = linear(A, A)", ""},
		{"a view of one operand twice", "mesh: {x: 2}", "A: [3, 3], T: [3, 3]", "At = permute(A, perm=[1, 0])\n  - T = matmul(At, At)", ""},
		{"rows, and both, of what is added to itself", "mesh: {x: 2}", "A: [DIDx, 2], T: [2, 2]", "T = add(A, A)", "reshard: after"},
		{"one tensor to two meshes", "mesh: {x: 4}\nmeshes:\n  one: {axes: {x: 1}, ranks: [0]}\n  pair: {axes: {x: 2}, ranks: [0, 1]}",
			"A: [2, 3], T: {axes: [3], mesh: one}, U: {axes: [3], mesh: pair}", "T = max(A, axis=0)\n  - U = prod(A, axis=0)", ""},
		{"parts on another mesh", "mesh: {x: 2, y: 3}\nmeshes:\n  other: {axes: {x: 3, y: 2}, ranks: [0, 1, 2, 3, 4, 5]}",
			"A: {axes: [6, DIDx, 2], mesh: other}, W: {axes: [1, DIDx, 2], mesh: other}, T: [6, 1]",
			"Ak = reshape(A, shape=[6, 6])\n  - Wk = reshape(W, shape=[1, 6])\n  - T = linear(Ak, Wk)", ""},
		{"parts on another mesh, of a split result", "mesh: {x: 2, y: 2}\nmeshes:\n  part: {axes: {x: 2, y: 1}, ranks: [3, 1]}",
			"A: {axes: [2, DIDx, 2], mesh: part}, B: {axes: [DIDx, 2, 2], mesh: part}, bias: [2], T: [DIDx, DIDy]",
			"Ak = reshape(A, shape=[2, 4])\n  - Bk = reshape(B, shape=[4, 2])\n  - S = matmul(Ak, Bk)\n  - T = add(S, bias)", ""},
		{"an exchange beside a pipeline", "mesh: {x: 2}", "A: [2, DIDx, 2, 2], S: [2, Stream(2), DIDx], R: [Stream(2), DIDx, 2]",
			"S = max(A, axis=1)\n  - R = relu(S)", "pipeline: broadcast"},
		{"teams at different slices", "mesh: {x: 2, y: 2}", "A: [2, DIDx, 3], T: [Stream(2), DIDy, 3], U: [Stream(2), 2, 3]",
			"T = permute(A, perm=[1, 0, 2])\n  - U = relu(T)", "pipeline: p2p, all: {steps: ring}"},
		{"teams at different slices, at a distance", "mesh: {x: 2, y: 2}", "A: [DIDx, 2, 3], T: [Stream(2), 2, 3], U: [Stream(2), DIDy, 3]",
			"T = reshape(A, shape=[2, 2, 3])\n  - U = set(T)", "pipeline: p2p"},
		{"sums of teams at different slices", "mesh: {y: 2, x: 2}",
			"A: [2, DIDx, 1, 2], B: [2, 2], C: [2, Stream(2), 1, 2], P: [DIDy, Stream(2), 2, 2]", "C = matmul(A, B)\n  - F = sum(P, axis=0)",
			"pipeline: p2p"},
		{"one tensor to a pipeline on its mesh and to one on all ranks", "mesh: {x: 4}\nmeshes:\n  odd: {axes: {x: 2}, ranks: [1, 3]}",
			"A: {axes: [DIDx, 1, 1], mesh: odd}, B: {axes: [1, 1], mesh: odd}, C: {axes: [Stream(2), 1, 1], mesh: odd}, T: [Stream(2), 1, 1]",
			"C = matmul(A, B)\n  - T = neg(A)", "pipeline: p2p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf("hirgen: 1\nname: p\n%s\ndtype: fp32\ntensors: {%s}\nops:\n  - %s\nschedule: {%s}\n", c.meshes, c.tensors, c.ops,
				c.schedule)
			p, err := model.Load("spec.yaml", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			followPasses(t, p, lowertest.NewOracle(t, p, 7))
		})
	}
}
