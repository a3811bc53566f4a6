package e2e

import (
	"strings"
	"testing"
)

// TestExchangedSums runs sums whose parts ranks send each other in the kernel that adds them: before a norm of rows, before an operation
// on elements, and alone; of an input and of a product. It runs calls one after the other on two to four ranks, in many orders.
func TestExchangedSums(t *testing.T) {
	product := []string{"A: [DIDx, M, K/D]", "W: [DIDx, K/D, N]", "P = matmul(A, W)"}
	input := []string{"P: [DIDx, M, N]"}
	for name, c := range map[string]struct {
		ranks int64
		graph string
		lines []string // tensors and operations
	}{
		"norm of a product's sum": {3, "true", append(product, "X: [M, N]", "S = sum(P, axis=0)", "R = add(S, X)", "Y = rms_norm(R)")},
		"norm":                    {2, "true", append(input, "S = sum(P, axis=0)", "Y = rms_norm(S)")},
		"elements":                {4, "false", append(input, "X: [M, N]", "S = sum(P, axis=0)", "Y = add(S, X)")},
		"alone":                   {2, "false", append(product, "Y = sum(P, axis=0)")},
		"alone, of four":          {4, "true", append(input, "Y = sum(P, axis=0)")},
	} {
		t.Run(name, func(t *testing.T) {
			exchanges := exchanges.beside(t)
			spec := "hirgen: 1\nname: exchange\nparams: {D: 2, M: 3, K: 12, N: 256}\nmesh: {x: D}\ntensors:\n  Y: [M, N]\n"
			ops := "ops:\n"
			for _, line := range c.lines {
				if strings.Contains(line, "=") {
					ops += "  - " + line + "\n"
				} else {
					spec += "  " + line + "\n"
				}
			}
			spec += ops + "schedule: {pipeline: p2p, graph: " + c.graph + ", all: {via: ipc-put, copy: sm, fuse: exchange, signals: batched}}\n"
			program := exchanges.make(t, spec, params{"D": c.ranks})
			if !strings.Contains(exchanges.source(t, "exchange.cpp"), "hirgen::RowExchange") {
				t.Error("the program exchanges no rows")
			}
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(3))
		})
	}
}
