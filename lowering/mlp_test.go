package lowering

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// mlp is a tensor-parallel perceptron with sequence parallelism. The spec declares only the axes of the inputs and the
// output.
const mlp = `hirgen: 1
name: mlp
params: {D: 2, S: 3, M: 12, E: 4, F: 8}
mesh: {x: D}
tensors:
  X: [S, DIDx, M/(S*D), E]
  W1: [DIDx, F/D, E]
  W2: [DIDx, E, F/D]
  Y: [Stream(S), r(D), DIDx, M/(S*D), E]
ops:
  - Xm = reshape(X, shape=[S, 1, M/S, E])
  - H = linear(Xm, W1)
  - G = relu(H)
  - P = linear(G, W2)
  - Q = reshape(P, shape=[S, D, D, M/(S*D), E])
  - Y = sum(Q, axis=1)
`

// TestEndsOfAnMLPAreEnough checks that the other shardings follow from the axes that mlp declares, and that all
// operations are one pipeline.
func TestEndsOfAnMLPAreEnough(t *testing.T) {
	p, err := model.Load("spec.yaml", []byte(mlp), nil)
	if err != nil {
		t.Fatal(err)
	}
	choose(&p.Schedule, "preset reference")
	followPasses(t, p, lowertest.NewOracle(t, p, 11))
	program, err := Host(p, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Allgather world x, ReduceScatter world x", communications(program)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	loops := 0
	for _, s := range program.Body {
		if _, ok := s.(*hostir.For); ok {
			loops++
		}
	}
	if loops != 2 {
		t.Errorf("there are %d loops, not the forks and the work of one pipeline\n%s", loops, text.Print(program))
	}
}
