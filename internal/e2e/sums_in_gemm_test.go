package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sumsInGEMM reads a spec of a reduce-scatter or an allreduce whose partial sums go around a ring and are accumulated
// in the GEMMs.
func sumsInGEMM(t *testing.T, name, transport string, more ...string) string {
	t.Helper()
	return pointToPoint(t, name, transport, append(more, "steps: ring", "fuse: gemm")...)
}

// TestSumsInGEMM runs rings whose GEMMs add the partial sums that arrive, over every transport, in many orders of
// execution.
func TestSumsInGEMM(t *testing.T) {
	for _, c := range []struct {
		spec, transport string
		ranks           int64
		fields          []string
	}{
		{"matmul_rs_p2p", "nccl", 4, []string{"split: 2"}},
		{"matmul_rs_p2p", "ipc-put", 4, []string{"split: 2", "lead: all", "signals: batched"}},
		{"matmul_rs_p2p", "ipc-get", 4, []string{"lead: all", "signals: batched"}},
		{"matmul_rs_p2p", "ipc-put", 2, []string{"split: 4", "copy: sm"}},
		{"matmul_rs_p2p", "ipc-get", 4, []string{"split: 2", "lead: all", "copy: fused", "signals: batched", "graph: true"}},
		{"matmul_rs_p2p", "ipc-put", 8, []string{"lead: all"}},
		{"matmul_rs_p2p", "nccl", 2, []string{"graph: true", "lead: all"}},
		{"matmul_ar_p2p", "ipc-put", 4, []string{"split: 2", "lead: all", "signals: batched"}},
		{"matmul_ar_p2p", "ipc-get", 4, []string{"split: 2"}},
	} {
		t.Run(fmt.Sprintf("%s/%s/D=%d/%s", c.spec, c.transport, c.ranks, strings.Join(c.fields, "/")), func(t *testing.T) {
			exchanges := exchanges.beside(t)
			program := exchanges.make(t, sumsInGEMM(t, c.spec, c.transport, c.fields...), small(c.spec, c.ranks))
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(8))
		})
	}
}

// TestAFoldedProductNeedsItsWait removes from an emitted program the wait before a GEMM that adds an arriving partial
// sum: for some seed elements must then be wrong.
func TestAFoldedProductNeedsItsWait(t *testing.T) {
	for transport, call := range map[string]string{"ipc-put": "cuStreamWaitValue32(caller, ",
		"nccl": "cudaStreamWaitEvent(caller, after_exchange_P_"} {
		exchanges.emit(t, sumsInGEMM(t, "matmul_rs_p2p", transport, "split: 2"), small("matmul_rs_p2p", 2))
		source := exchanges.source(t, "exchange.cpp")
		lines := strings.SplitAfter(source, "\n")
		wait := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, call) })
		if wait < 0 || !strings.Contains(strings.Join(lines[wait:], ""), "gemm_add(context_,") {
			t.Fatalf("%s: the program has no %s in front of the product\n%s", transport, call, source)
		}
		t.Run(transport, func(t *testing.T) {
			start := startOf(lines, wait)
			mustBeWrong(t, exchanges.rebuild(t, "exchange.cpp", strings.Join(lines[:start], "")+withoutFirst(lines[start:])))
		})
	}
}
