package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestExchangedRows runs programs whose ranks send each other rows in one kernel. For sums, the kernel also adds the
// rows: before a norm of rows, before an operation on elements, and alone; of an input and of a GEMM's result; for all
// ranks or for one. In an all-to-all, each rank gets different rows. Calls run one after the other on two to four ranks, in many orders.
func TestExchangedRows(t *testing.T) {
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
		"a part": {3, "true", []string{"A: [DIDx, D, M, K]", "W: [DIDx, K, N]", "Y: [DIDx, M, N]", "P = matmul(A, W)",
			"Y = sum(P, axis=0)"}},
		"a part, its norm, gathered": {3, "true", []string{"A: [DIDx, D, M, K]", "W: [DIDx, K, N]", "S: [DIDx, M, N]", "U: [D, M, N]",
			"V: [N, K]", "Y: [D, M, K]", "P = matmul(A, W)", "S = sum(P, axis=0)", "R = rms_norm(S)", "U = set(R)", "Y = matmul(U, V)"}},
		"all-to-all":               {4, "true", []string{"X: [DIDx, D, M, N]", "Y: [D, DIDx, M, N]", "Y = set(X)"}},
		"all-to-all of other axes": {3, "false", []string{"X: [D, M, DIDx, N]", "Y: [DIDx, M, D, N]", "Y = set(X)"}},
	} {
		t.Run(name, func(t *testing.T) {
			exchanges := exchanges.beside(t)
			spec := "hirgen: 1\nname: exchange\nparams: {D: 2, M: 3, K: 12, N: 256}\nmesh: {x: D}\ntensors:\n"
			more := fmt.Sprintf(", block: %d", c.ranks)
			if all := strings.Join(c.lines, "\n"); strings.Contains(all, "sum(") && !strings.Contains(all, "Y: ") {
				spec, more = spec+"  Y: [M, N]\n", ", fuse: exchange"
			}
			ops := "ops:\n"
			for _, line := range c.lines {
				if strings.Contains(line, "=") {
					ops += "  - " + line + "\n"
				} else {
					spec += "  " + line + "\n"
				}
			}
			spec += ops + "schedule: {pipeline: p2p, graph: " + c.graph + ", all: {via: ipc-put, copy: sm, signals: batched" + more + "}}\n"
			program := exchanges.make(t, spec, params{"D": c.ranks})
			if !strings.Contains(exchanges.source(t, "exchange.cpp"), "hirgen::RowExchange") {
				t.Error("the program exchanges no rows")
			}
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(3))
		})
	}
}
