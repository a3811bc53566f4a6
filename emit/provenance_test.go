package emit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// TestSummaryTellsTheSchedule checks the sentence on the schedule in the comment at the head of a program, and for some
// schedules the text on operations or communications.
func TestSummaryTellsTheSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		spec, schedule string
		want           []string
	}{
		"a collective": {"ag_matmul", "streams: 1",
			[]string{"Schedule: pipeline collective, 1 compute stream."}},
		"an operation that is taken apart": {"mlp_sp", "streams: 4", []string{" U = layer_norm(X, gamma, beta) G = reshape(U, shape=[M, K]) "}},
		"no pipeline":                      {"mlp_tp_backward", "streams: 4", []string{"Schedule: computes on the caller's stream."}},
		"serialized":                       {"ag_matmul", "preset: eager", []string{"Schedule: no pipeline, computes on the caller's stream."}},
		"streams": {"ag_matmul_p2p", "preset: reference, streams: 2, pipeline: p2p, reshard: after, joins: body, local_shard: copied, " +
			"delay: 5, " +
			"graph: true, all: {via: ipc-put, steps: reverse}, A: {copy: sm}",
			[]string{"Schedule: pipeline p2p, 2 compute streams, reshard after, replayed as a CUDA graph, joins body, local_shard copied, delay 5 " +
				"microseconds, via ipc-put, steps reverse, copy sm of A."}},
		"a ring": {"matmul_rs_ring", "pipeline: p2p, streams: 3, all: {steps: ring, split: 2, fuse: gemm}",
			[]string{"one slice in each iteration over s, c.",
				"Schedule: pipeline p2p, computes on the caller's stream, steps ring, split 2, fuse gemm."}},
		"sub-chunks": {"matmul_ar_sub_chunks", "pipeline: p2p, streams: 0, buffers: free, all: {via: ipc-put, lead: all, signals: batched, " +
			"local: last, split: 2, interchange: true, copy: engine}",
			[]string{"into C from rank to rank by IPC-put, one slice in each iteration over c, s.",
				"Schedule: pipeline p2p, computes on the caller's stream, buffers free, via ipc-put, local last, split 2, interchange true, " +
					"signals batched."}},
		"a peer-read reduction": {"matmul_rs_peer_read", "pipeline: p2p, streams: 0, all: {via: ipc-get, fuse: peer-read}",
			[]string{"partial sums of peers read for C from rank to rank by IPC-get, one slice in each iteration over s."}},
		"two programs": {"ag_matmul_p2p", "pipeline: p2p, transport: auto, streams: 2, all: {copy: fused}",
			[]string{"Schedule: pipeline p2p, 2 compute streams, via ipc-get, copy fused."}},
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
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// headOf returns the comment at the head of an emitted program as one line.
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

// TestFirstComment checks with which text of a spec the description of its program begins, and that a Python string can
// contain this text.
func TestFirstComment(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"hirgen: 1\n# later\n", ""},
		{"# An MLP.\n#\n#   Two lines.\nhirgen: 1\n", "An MLP. Two lines."},
		{"# yaml-language-server: $schema=https://example.org\n# A layer.\nhirgen: 1\n", "A layer."},
		{"# yaml-language-server: $schema=https://example.org\nhirgen: 1\n", ""},
	} {
		if got := strings.Join(emit.FirstComment([]byte(c.spec)), "\n"); strings.TrimSuffix(got, "\n") != c.want {
			t.Errorf("%q begins with %q, want %q", c.spec, got, c.want)
		}
	}
	if got, want := emit.Docstring("tail \\xi \"\"\" end"), `tail \\xi \"\"\" end`; got != want {
		t.Errorf("in a string of Python: %s, want %s", got, want)
	}
}
