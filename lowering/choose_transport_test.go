package lowering

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestChooseTransport(t *testing.T) { lowertest.PassCases(t, "choose-transport", ChooseTransport) }

// TestFallback lowers each operation for CUDA IPC and for several nodes: the first program
// is that of a schedule that names the transport, the other one is right on nodes of any size.
func TestFallback(t *testing.T) {
	const fields = "pipeline: p2p, streams: 2, "
	for spec, preferred := range map[string]string{
		"ag_matmul_p2p": "ipc-get", "ag_linear_p2p": "ipc-get", "allgather_p2p": "ipc-get",
		"matmul_rs_p2p": "ipc-put", "matmul_ar_p2p": "ipc-put",
	} {
		lowered := func(more, all string) *hostir.Program {
			p := problem{operation: strings.TrimSuffix(spec, "_p2p"), ranks: 4, m: 32, n: 16, k: 16}
			return lowerAt(t, autoSpec(t, spec, "{"+fields+more+"all: {lead: all, copy: sm, signals: batched"+all+"}}"), p)
		}
		both := lowered("transport: auto, ", "")
		if both.Fallback == nil {
			t.Errorf("%s: there is no fallback variant", spec)
			continue
		}
		both.Fallback = nil
		if want := anywhere(text.Print(lowered("", ", via: "+preferred))); anywhere(text.Print(both)) != want {
			t.Errorf("%s: over CUDA IPC it is\n%s\nnot\n%s", spec, text.Print(both), want)
		}
	}
}

// anywhere is a program without what its choices say of their places.
func anywhere(program string) string {
	return regexp.MustCompile(`(?m)^choices .*$`).ReplaceAllString(program, "choices")
}
