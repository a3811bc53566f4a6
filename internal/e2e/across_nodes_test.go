package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// nodesOfFour are ways to spread four ranks over nodes: the environment variables that some ranks get, and the
// transport that the program then reports. IPC stands for ipc-get or ipc-put.
var nodesOfFour = []struct{ name, ranks, variable, transport string }{
	{"4", "none", "HIRGEN_BOOT_ID=another", "IPC"},
	{"2+2", "2|3", "HIRGEN_BOOT_ID=another", "IPC within nodes, nccl between them"},
	{"2+2 in turn", "1|3", "HIRGEN_BOOT_ID=another", "IPC within nodes, nccl between them"},
	{"3+1", "1", "HIRGEN_BOOT_ID=another HIRGEN_CPU_NO_IPC=1", "IPC within nodes, nccl between them"},
	{"2+2, of which one shares nothing", "0|1", "HIRGEN_BOOT_ID=another HIRGEN_CPU_NO_IPC=1", "IPC within nodes, nccl between them"},
	{"1+1+1+1", "*", "HIRGEN_BOOT_ID=$HIRGEN_RANK", "nccl"},
}

// TestAcrossNodes runs programs that find out which ranks share memory on nodes of any size, in several orders of
// execution, with calls back to back.
func TestAcrossNodes(t *testing.T) {
	for _, c := range []struct {
		spec, ipc string
		fields    []string
		seeds     int64
	}{
		{"ag_matmul_p2p", "ipc-get", []string{"lead: all", "signals: batched"}, 4},
		{"ag_linear_p2p", "ipc-get", []string{"lead: all", "copy: fused", "split: 2"}, 2},
		{"allgather_p2p", "ipc-get", []string{"steps: pairwise", "graph: true"}, 2},
		{"matmul_rs_p2p", "ipc-put", []string{"copy: sm", "local: last", "graph: true"}, 4},
		{"matmul_rs_p2p", "ipc-get", []string{"fuse: peer-read"}, 2},
		{"matmul_ar_p2p", "ipc-put", []string{"lead: all", "split: 2", "interchange: true"}, 2},
		{"matmul_ar_p2p", "ipc-put", []string{"lead: all", "split: 2", "interchange: true", "block: D"}, 2},
		{"matmul_ar_p2p", "ipc-put", []string{"block: D/2", "copy: fused", "signals: batched"}, 2},
		{"gather_consume", "ipc-get", nil, 2},
		{"produce_exchange", "ipc-put", []string{"local: last", "delay: 5"}, 2},
		{"ag_matmul_p2p", "ipc-get", []string{"steps: ring"}, 2},
		{"matmul_rs_p2p", "ipc-put", []string{"steps: ring", "fuse: gemm", "split: 2"}, 2},
	} {
		t.Run(c.spec+"/"+strings.Join(c.fields, ", "), func(t *testing.T) {
			exchanges := exchanges.beside(t)
			spec := pointToPoint(t, c.spec, "auto", c.fields...)
			program := exchanges.make(t, spec, small(c.spec, 4))
			for _, nodes := range nodesOfFour {
				over := onRanks(t, program, nodes.ranks, nodes.variable)
				transport := strings.Replace(nodes.transport, "IPC", c.ipc, 1)
				for seed := range seedsOf(c.seeds) { // seed 0: each step runs as soon as it can
					r := run(t, launch.Options{Program: over, N: 4, Seed: seed, Args: manyCalls})
					r.mustRunOver(t, transport)
					if (r.stderr == "") != (transport == c.ipc) || strings.Count(r.stderr, "\n") > 1 {
						t.Errorf("nodes %s: want one line of rank 0 where not all memory is shared, got %s", nodes.name, r)
					}
				}
			}
			r := run(t, launch.Options{Program: program, N: 4, Args: append(slices.Clone(manyCalls), "--transport", "nccl")})
			r.mustRunOver(t, "nccl")
		})
	}
}
