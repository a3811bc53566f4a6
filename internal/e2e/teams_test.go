package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// A setting is where the ranks of an example with one mesh axis are: all ranks, the rows or the
// columns of a grid, or some of the ranks.
type setting struct{ name, mesh, meshes string }

var settings = []setting{
	{"all", "{x: D}", ""},
	{"rows", "{y: 2, x: D}", ""},
	{"columns", "{x: D, y: 2}", ""},
	{"some", "{x: 2*D}", "  part: {axes: {x: D}, ranks: [%s]}\n"},
}

// apart has the ranks of a mesh of some ranks, by their number: every second rank, or ranks in irregular order.
var apart = map[int64]string{2: "3, 0", 3: "1, 3, 5", 4: "1, 3, 5, 7"}

// place puts an example on the ranks of a setting.
func (s setting) place(spec string, d int64) string {
	spec = strings.Replace(spec, "mesh: {x: D}\n", "mesh: "+s.mesh+"\n", 1)
	if s.meshes == "" {
		return spec
	}
	spec = strings.Replace(spec, "tensors:\n", "meshes:\n"+fmt.Sprintf(s.meshes, apart[d])+"tensors:\n", 1)
	return onlyAxes.ReplaceAllString(spec, "$1{axes: $2, mesh: part}")
}

// onlyAxes matches a tensor that is declared by its axes alone.
var onlyAxes = regexp.MustCompile(`(?m)^(  \w+: )(\[.*\])$`)

// TestTeamsShareMemory runs point-to-point pipelines over CUDA IPC along one axis of a grid and on
// some of the ranks, in several forms, in many orders of execution.
func TestTeamsShareMemory(t *testing.T) {
	for n, c := range []struct {
		spec, transport string
		d               int64
		fields          []string
	}{
		{"ag_matmul_p2p", "ipc-get", 2, nil},
		{"matmul_rs_p2p", "ipc-put", 2, []string{"lead: all", "copy: sm", "signals: batched"}},
		{"matmul_ar_p2p", "ipc-put", 2, []string{"lead: all", "copy: fused", "signals: batched", "graph: true"}},
		{"ag_linear_p2p", "ipc-get", 4, []string{"lead: all", "copy: fused", "signals: batched"}},
		{"matmul_rs_p2p", "ipc-get", 4, []string{"steps: reverse", "local: last", "graph: true"}},
		{"ag_matmul_p2p", "ipc-put", 4, []string{"lead: all", "split: 2"}},
		{"allgather_p2p", "ipc-put", 3, []string{"copy: sm"}},
		{"matmul_ar_p2p", "ipc-put", 2, []string{"lead: all", "split: 4", "interchange: true", "block: D"}},
	} {
		for m, where := range settings[1:] {
			if !full && n%(len(settings)-1) != m {
				continue // one setting for each, in turn
			}
			t.Run(fmt.Sprintf("%s/%s/%s/%d/%s", c.spec, c.transport, where.name, c.d, strings.Join(c.fields, "/")), func(t *testing.T) {
				exchanges := exchanges.beside(t)
				spec := where.place(pointToPoint(t, c.spec, c.transport, c.fields...), c.d)
				values := small(c.spec, c.d)
				values["M"] = 16 * c.d
				program := exchanges.make(t, spec, values)
				mustPassInOrders(t, program, 2*c.d, seedsOf(8))
			})
		}
	}
}

// rowsOfNodes has a pipeline along x and a sum along y.
const rowsOfNodes = `hirgen: 1
name: exchange
params: {D: 2, R: 2, M: 64, K: 32, N: 24}
mesh: %s
dtype: bf16
tensors:
  A: [DIDy, DIDx, M/D, K]
  B: [K, N]
  C: [DIDy, Stream(D), M/D, N]
  S: [r(R), D, M/D, N]
ops:
  - C = matmul(A, B)
  - S = sum(C, axis=0)
schedule: {pipeline: p2p, streams: 2, all: {via: ipc-get}}
`

// onNodes returns a program whose ranks are on nodes of the given number of ranks each. Ranks of different nodes cannot
// open each other's memory.
func onNodes(t *testing.T, program string, ranks int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "on_nodes")
	text := fmt.Sprintf("#!/bin/sh\nHIRGEN_BOOT_ID=host$((HIRGEN_RANK / %d)) exec '%s' \"$@\"\n", ranks, program)
	script(t, path, text)
	return path
}

// TestNodes runs a grid whose rows are nodes: CUDA IPC along the rows, NCCL inter-node, for a sum or a pipeline. If a
// pipeline over CUDA IPC crosses nodes, the program must report it and stop.
func TestNodes(t *testing.T) {
	exchanges := exchanges.beside(t)
	within := exchanges.make(t, fmt.Sprintf(rowsOfNodes, "{y: R, x: D}"), nil)
	mustPassInOrders(t, onNodes(t, within, 2), 4, seedsOf(8))
	both := strings.NewReplacer("S: [r(R), D, M/D, N]", "S: [Stream(R), D, M/D, N]", "sum(C, axis=0)", "set(C)", "pipeline: p2p,",
		"pipeline: p2p, nodes: y,")
	mixed := exchanges.make(t, both.Replace(fmt.Sprintf(rowsOfNodes, "{y: R, x: D}")), nil)
	mustPassInOrders(t, onNodes(t, mixed, 2), 4, seedsOf(8))
	across := exchanges.make(t, fmt.Sprintf(rowsOfNodes, "{x: D, y: R}"), nil)
	mustPassInOrders(t, across, 4, 1)
	r := run(t, launch.Options{Program: onNodes(t, across, 2), N: 4, Args: []string{"--timeout", "5"}})
	for _, want := range []string{"ranks 0 and 2 cannot share memory: they are on different nodes", "`via: nccl`"} {
		if r.exit != 3 || !strings.Contains(r.stderr, want) {
			t.Errorf("want exit code 3 and %q, got %s", want, r)
		}
	}
	if strings.Contains(r.stderr, "ranks 0 and 1") {
		t.Errorf("ranks 0 and 1 are on one node: %s", r)
	}
}

// TestMemoryOfAnotherTeam makes an emitted program share memory along the other axis of a grid. It must fail, because
// it lacks the memory of its peers.
func TestMemoryOfAnotherTeam(t *testing.T) {
	exchanges.emit(t, fmt.Sprintf(rowsOfNodes, "{y: R, x: D}"), nil)
	other := strings.Replace(exchanges.source(t, "exchange.cpp"), ".axis = 1}", ".axis = 0}", 1)
	program := exchanges.rebuild(t, "exchange.cpp", other)
	if r := run(t, launch.Options{Program: program, N: 4, Args: []string{"--timeout", "3"}}); r.exit == 0 {
		t.Errorf("the program uses memory that it does not share: %s", r)
	}
}
