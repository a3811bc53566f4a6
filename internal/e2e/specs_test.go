package e2e

import (
	"fmt"
)

// schedule is the schedule of a spec.
type schedule struct {
	streams      int
	waits, joins string // values of initial_waits and joins for the preset reference
	graph        bool
}

var plain = schedule{streams: 4, waits: "split", joins: "body"}

func (s schedule) String() string {
	return fmt.Sprintf("schedule: {preset: reference, streams: %d, initial_waits: %s, joins: %s, graph: %t}\n", s.streams, s.waits,
		s.joins, s.graph)
}

// agMatmul returns a spec of C = allgather(A) x B at a small size.
func agMatmul(s schedule) string {
	return `hirgen: 1
name: ag_matmul
params: {D: 4, S: 4, M: 128, N: 24, K: 32}
mesh: {x: D}
dtype: bf16
tensors:
  A: [S, DIDx, M/(S*D), K]
  B: [K, N]
  C: [Stream(S), D, M/(S*D), N]
ops:
  - C = matmul(A, B)
` + s.String()
}

// agLinear is agMatmul with a linear layer and its bias in place of the matmul.
func agLinear(s schedule) string {
	return `hirgen: 1
name: ag_linear
params: {D: 4, S: 4, M: 128, N: 24, K: 32}
mesh: {x: D}
dtype: bf16
tensors:
  A: [S, DIDx, M/(S*D), K]
  W: [N, K]
  bias: [N]
  C: [Stream(S), D, M/(S*D), N]
ops:
  - C = linear(A, W, bias)
` + s.String()
}
