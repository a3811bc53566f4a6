package e2e

import "testing"

// awkwardNames is a spec whose names are keywords and macros of C++, and words of libraries, of the emitted program and of its
// runtime.
const awkwardNames = `hirgen: 1
name: launch_words
mesh: {x: 2}
params: {time: 2, index: 8, E2BIG: 4, do: 2, root: 8}
tensors:
  I: [time, DIDx, index, E2BIG]
  table: [E2BIG, index]
  Tensors: [Stream(time), do, index, root]
  graph: [DIDx, index, index]
ops:
  - Tensors = matmul(I, table)
  - min = relu(Tensors)
  - exp = add(min, min)
  - buffer = sum(exp, axis=0)
  - while = cast(buffer, dtype=fp32)
  - cudaMalloc = scale(while, by=1e-40)
  - context = set(cudaMalloc)
  - INT_MAX = neg(buffer)
  - graph = set(INT_MAX)
  - hirgen = reshape(graph, shape=[2, 64])
  - rank = neg(hirgen)
  - x = neg(rank)
schedule: {pipeline: p2p}
`

func TestAcceptedNamesCompile(t *testing.T) {
	program := shared.make(t, awkwardNames, nil)
	for _, options := range shared.transports() {
		mustPassInOrders(t, program, 2, 1, options...)
	}
}
