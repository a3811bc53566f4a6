package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestPeerReadSums runs peer-read reductions, some of which store their results in the memory of peers. It runs calls
// back to back, at round and odd sizes, in many orders of execution.
func TestPeerReadSums(t *testing.T) {
	odd := params{"M": 42, "N": 13, "K": 21}
	for _, c := range []struct {
		spec   string
		ranks  int64
		sizes  params // without the number of ranks; M and K are for one rank
		fields []string
	}{
		{"matmul_rs_p2p", 4, nil, []string{"block: D", "signals: batched"}},
		{"matmul_rs_p2p", 2, odd, []string{"block: D", "graph: true"}},
		{"matmul_rs_p2p", 4, odd, nil},
		{"matmul_rs_p2p", 4, odd, []string{"block: D/2", "local: last", "lead: all"}},
		{"matmul_rs_p2p", 4, nil, []string{"split: 2", "steps: pairwise", "signals: batched", "copy: fused", "graph: true"}},
		{"matmul_rs_p2p", 3, odd, []string{"split: 3", "steps: reverse"}},
		{"matmul_rs_p2p", 1, nil, []string{"block: D"}},
		{"matmul_ar_p2p", 4, nil, []string{"block: D", "lead: all", "copy: fused", "signals: batched"}},
		{"matmul_ar_p2p", 2, odd, []string{"copy: sm", "buffers: free"}},
		{"matmul_ar_p2p", 3, odd, []string{"block: D", "signals: batched", "graph: true"}},
		{"matmul_ar_p2p", 4, odd, []string{"split: 2", "local: last", "steps: reverse"}},
		{"matmul_ar_p2p", 4, nil, []string{"block: D/2", "steps: pairwise", "graph: true"}},
		{"matmul_ar_p2p", 1, nil, []string{"block: D"}},
	} {
		t.Run(fmt.Sprintf("%s/D=%d/%s", c.spec, c.ranks, strings.Join(c.fields, "/")), func(t *testing.T) {
			exchanges := exchanges.beside(t)
			values := small(c.spec, c.ranks)
			for name, size := range c.sizes {
				values[name] = size
				if name != "N" {
					values[name] *= c.ranks
				}
			}
			program := exchanges.make(t, pointToPoint(t, c.spec, "ipc-get", append(c.fields, "fuse: peer-read")...), values)
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(6))
		})
	}
}

// TestPeerReadSumsNeedTheirOrder sets the ready flags of an emitted program before the partial sums are computed, or
// removes the wait until the peers have read them. For some seed elements must then be wrong.
func TestPeerReadSumsNeedTheirOrder(t *testing.T) {
	early := func(source string) string {
		before, rest, _ := strings.Cut(source, "  gemm(context_,")
		product, rest, _ := strings.Cut(rest, "  hirgen::MemOpBatch ready_flags")
		flags, rest, _ := strings.Cut(rest, "  ready_flags.submit(caller, kReadyP);\n")
		return before + "  hirgen::MemOpBatch ready_flags" + flags + "  ready_flags.submit(caller, kReadyP);\n  gemm(context_," + product + rest
	}
	unread := func(source string) string {
		return strings.Replace(source, "  done_flags.submit(caller, kWaitReadP);\n", "", 1)
	}
	for name, change := range map[string]func(string) string{"ready too early": early, "not waited for": unread} {
		t.Run(name, func(t *testing.T) { mustBeWrong(t, changed(t, "matmul_rs_p2p", change)) })
	}
}

// TestWrittenSums runs sums that kernels store in the memory of other ranks: in several element types, along each axis of a
// grid, if the program itself uses the gathered result, and with transport: auto.
func TestWrittenSums(t *testing.T) {
	for name, c := range map[string]struct {
		transport string
		ranks     int64
		change    []string // pairs of old and new text of the spec
	}{
		"fp32":    {"ipc-get", 2, []string{"dtype: bf16", "dtype: fp32"}},
		"fp16":    {"ipc-get", 4, []string{"dtype: bf16", "dtype: fp16"}},
		"columns": {"ipc-get", 4, []string{"mesh: {x: D}", "mesh: {x: D, y: 2}"}},
		"rows":    {"ipc-get", 4, []string{"mesh: {x: D}", "mesh: {y: 2, x: D}"}},
		"auto":    {"auto", 2, nil},
		"consumed": {"ipc-get", 4, []string{"  C: [Stream(D), M/D, N]", "  C: [Stream(D), M/D, N]\n  E: [Stream(D), M/D, N]\n  F: [DIDx, M/D, N]",
			"  - C = set(R)", "  - C = set(R)\n  - E = relu(C)\n  - F = relu(R)"}},
	} {
		t.Run(name, func(t *testing.T) {
			exchanges := exchanges.beside(t)
			spec := pointToPoint(t, "matmul_ar_p2p", c.transport, "fuse: peer-read", "block: D", "signals: batched")
			spec = strings.NewReplacer(c.change...).Replace(spec)
			d := c.ranks
			if strings.Contains(spec, "y: 2") {
				d /= 2
			}
			program := exchanges.make(t, spec, small("matmul_ar_p2p", d))
			if source := exchanges.source(t, "exchange.cpp"); !strings.Contains(source, ".store(") {
				t.Fatalf("the sum is not written to other ranks\n%s", source)
			}
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(4))
		})
	}
}

// TestWrittenSumsNeedTheirWaits ends the calls of an emitted program before the peers have written
// their sums: for some seed elements must then be wrong.
func TestWrittenSumsNeedTheirWaits(t *testing.T) {
	mustBeWrong(t, changed(t, "matmul_ar_p2p", func(source string) string {
		return strings.Replace(source, "  done_flags.submit(caller, kWaitReadP);\n", "", 1)
	}))
}

// changed builds a program of peer-read sums on two ranks after a change to its source.
func changed(t *testing.T, spec string, change func(string) string) string {
	t.Helper()
	exchanges.emit(t, pointToPoint(t, spec, "ipc-get", "fuse: peer-read", "block: D", "signals: batched"), small(spec, 2))
	return exchanges.rebuild(t, "exchange.cpp", change(exchanges.source(t, "exchange.cpp")))
}
