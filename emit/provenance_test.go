package emit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// The head of a program tells every choice that is not the default, and only what it has.
func TestSummaryTellsTheSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		spec, schedule string
		want           []string
	}{
		"a collective": {"ag_matmul", "streams: 1",
			[]string{"Schedule: pipeline collective, 1 worker stream, sync split, joins body."}},
		"no pipeline": {"mlp_tp_backward", "streams: 4", []string{"Schedule: no worker streams."}},
		"serialized":  {"ag_matmul", "pipeline: eager", []string{"Schedule: pipeline eager, no worker streams."}},
		"streams": {"ag_matmul_p2p", "streams: 2, pipeline: p2p, transport: ipc-put, reshard: after, sync: split, joins: after, own: copied, order: reverse, copy: kernel, delay: 5, graph: true",
			[]string{"Schedule: pipeline p2p, transport ipc-put, reshard after, 2 worker streams, sync split, joins after, own copied, order reverse, copy kernel, delay 5 microseconds, replayed as a CUDA graph."}},
		"a ring": {"matmul_rs_ring", "pipeline: ring, chunks: 2*D, sums: folded, streams: 3",
			[]string{"one slice per iteration of s and c.", "Schedule: pipeline ring, transport nccl, no worker streams, chunks 8, sums folded."}},
		"pieces": {"matmul_ar_pieces", "pipeline: p2p, transport: ipc-put, streams: 0, transfers: ahead, signals: batched, own_step: last, pieces: 2, buffers: free, own: in-place, copy: engine",
			[]string{"into C from rank to rank by IPC-put, one slice per iteration of piece and s.",
				"Schedule: pipeline p2p, transport ipc-put, no worker streams, buffers free, transfers ahead, own_step last, pieces 2, signals batched."}},
		"a peer-read reduction": {"matmul_rs_direct", "pipeline: p2p, transport: ipc-get, sums: direct, streams: 0",
			[]string{"partial sums of peers read for C from rank to rank by IPC-get, one slice per iteration of s."}},
		"two programs": {"ag_matmul_p2p", "pipeline: p2p, transport: auto, streams: 2, copy: fused",
			[]string{"Schedule: pipeline p2p, transport ipc-get, 2 worker streams, sync split, joins body, copy fused."}},
	} {
		t.Run(name, func(t *testing.T) {
			head := headOf(t, lowerSchedule(t, c.spec, c.schedule))
			for _, want := range c.want {
				if !strings.Contains(head, want) {
					t.Errorf("%q is missing in\n%s", want, head)
				}
			}
		})
	}
}

// lowerSchedule lowers an example with another schedule.
func lowerSchedule(t *testing.T, name, schedule string) *hostir.Program {
	t.Helper()
	data, err := os.ReadFile("../testdata/specs/" + name + "/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "\nschedule:")
	pipeline, err := model.Load("spec.yaml", []byte(text+"\nschedule: {"+schedule+"}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Lower(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// headOf is the comment at the head of an emitted program, as one line.
func headOf(t *testing.T, p *hostir.Program) string {
	t.Helper()
	for _, f := range render(t, p) {
		if f.Path == p.Name+".cpp" {
			head, _, _ := strings.Cut(string(f.Data), "\n#include")
			return strings.Join(strings.Fields(strings.ReplaceAll(head, "//", "")), " ")
		}
	}
	t.Fatalf("there is no %s.cpp", p.Name)
	return ""
}
