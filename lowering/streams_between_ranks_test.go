package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestStreamsBetweenRanks checks pipelines whose results are on more ranks than their operands, and a pipeline that
// exchanges along one mesh axis and sums over another.
func TestStreamsBetweenRanks(t *testing.T) {
	for name, text := range map[string]string{
		"from some ranks to all, of a larger axis": `
mesh: {x: 4}
meshes: {pair: {axes: {x: 2}, ranks: [0, 1]}}
tensors: {A: {axes: [DIDx(2), 2, 3], mesh: pair}, B: [Stream(2), 2, 3]}
ops: [B = set(A)]
schedule: {pipeline: p2p}`,
		"from some ranks to all, at a distance": `
mesh: {x: 6}
meshes: {right: {axes: {x: 3}, ranks: [0, 1, 2]}}
tensors: {W: {axes: [DIDx(3), 1, 1, 1], mesh: right}, T: [Stream(3), 1, 1, 1, 1]}
ops: ["T = reshape(W, shape=[3, 1, 1, 1, 1])"]
schedule: {pipeline: p2p}`,
		"a sum over y beside a ring along x": `
mesh: {y: 2, x: 2}
tensors: {A: [2, DIDx(2), 1, 2], B: [2, 2], C: [2, Stream(2), 1, 2], P: [DIDy(2), Stream(2), 1, 2]}
ops: ["C = matmul(A, B)", "F = sum(P, axis=0)"]
schedule: {pipeline: p2p, all: {steps: ring}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: p\ndtype: fp32\n"+text+"\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			followPasses(t, p, lowertest.NewOracle(t, p, 7))
		})
	}
}
