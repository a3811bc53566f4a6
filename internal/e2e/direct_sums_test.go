package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestDirectSums runs sums that read the parts of other ranks where they are, in calls that follow
// each other, at round and odd sizes, in many orders of execution.
func TestDirectSums(t *testing.T) {
	odd := params{"M": 42, "N": 13, "K": 21}
	for _, c := range []struct {
		spec   string
		ranks  int64
		sizes  params // beside the ranks; M and K of one rank
		fields []string
	}{
		{"matmul_rs_p2p", 4, nil, []string{"chunks: 1", "signals: batched"}},
		{"matmul_rs_p2p", 2, odd, []string{"chunks: 1", "graph: true"}},
		{"matmul_rs_p2p", 4, odd, nil},
		{"matmul_rs_p2p", 4, odd, []string{"chunks: 2", "own_step: last", "transfers: ahead"}},
		{"matmul_rs_p2p", 4, nil, []string{"chunks: 2*D", "order: pairwise", "signals: batched", "copy: fused", "graph: true"}},
		{"matmul_rs_p2p", 3, odd, []string{"chunks: 3*D", "order: reverse", "joins: after"}},
		{"matmul_rs_p2p", 1, nil, []string{"chunks: 1"}},
		{"matmul_ar_p2p", 4, nil, []string{"chunks: 1", "transfers: ahead", "copy: fused", "signals: batched"}},
		{"matmul_ar_p2p", 2, odd, []string{"copy: kernel", "buffers: free"}},
	} {
		t.Run(fmt.Sprintf("%s/D=%d/%s", c.spec, c.ranks, strings.Join(c.fields, "/")), func(t *testing.T) {
			values := small(c.spec, c.ranks)
			for name, size := range c.sizes {
				values[name] = size
				if name != "N" {
					values[name] *= c.ranks
				}
			}
			program := exchanges.make(t, pointToPoint(t, c.spec, "ipc-get", "in-place", append(c.fields, "sums: direct")...), values)
			seeds := int64(6)
			if full {
				seeds = 50
			}
			for seed := range seeds { // 0 is in order
				run(t, launch.Options{Program: program, N: int(c.ranks), Seed: seed, Args: manyCalls}).mustPass(t)
			}
		})
	}
}

// TestDirectSumsNeedTheirOrder lends the parts of an emitted program before they are made, and lets
// the next call make others without a wait for the peers to have read: for some seed elements must
// then be wrong.
func TestDirectSumsNeedTheirOrder(t *testing.T) {
	early := func(source string) string {
		before, rest, _ := strings.Cut(source, "  // P = Matmul(")
		product, rest, _ := strings.Cut(rest, "  hirgen::WordBatch lends")
		lends, rest, _ := strings.Cut(rest, "  lends.submit(stream, kLends);\n")
		return before + "  hirgen::WordBatch lends" + lends + "  lends.submit(stream, kLends);\n  // P = Matmul(" + product + rest
	}
	unread := func(source string) string {
		return strings.Replace(source, "  returns.submit(stream, kReturns);\n", "", 1)
	}
	for name, change := range map[string]func(string) string{"lent too early": early, "not waited for": unread} {
		t.Run(name, func(t *testing.T) {
			spec := pointToPoint(t, "matmul_rs_p2p", "ipc-get", "in-place", "sums: direct", "chunks: 1", "signals: batched")
			exchanges.emit(t, spec, small("matmul_rs_p2p", 2))
			path := filepath.Join(exchanges.dir(), "exchange.cpp")
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := change(string(source))
			if changed == string(source) {
				t.Fatalf("the program has nothing of that kind\n%s", source)
			}
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			mustBeWrong(t, exchanges.build(t))
		})
	}
}
