package e2e

import "testing"

// awkwardNames is a spec whose names are words of the emitted program, of its runtime and of
// the C library, as far as they are accepted.
const awkwardNames = `hirgen: 1
name: launch_words
mesh: {x: 2}
params: {time: 2, index: 8, remove: 4, kWait: 2}
tensors:
  options: [time, DIDx, index, remove]
  handle: [remove, index]
  Tensors: [Stream(time), kWait, index, index]
  graph: [DIDx, index, index]
ops:
  - Tensors = matmul(options, handle)
  - sharers = relu(Tensors)
  - mesh = add(sharers, sharers)
  - buffer = sum(mesh, axis=0)
  - tensor = cast(buffer, dtype=fp32)
  - launch = scale(tensor, by=1e-40)
  - context2 = set(launch)
  - abi = neg(buffer)
  - graph = set(abi)
  - lib = reshape(graph, shape=[2, 64])
  - x = neg(lib)
schedule: {pipeline: p2p}
`

func TestAcceptedNamesCompile(t *testing.T) {
	program := shared.make(t, awkwardNames, nil)
	for _, options := range shared.transports() {
		mustPassInOrders(t, program, 2, 1, options...)
	}
}
