package lowering

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestChooseTransport(t *testing.T) { lowertest.PassCases(t, "choose-transport", ChooseTransport) }

// TestWhatRunsOtherwise lowers each operation for CUDA IPC and for several hosts: the first program
// is that of a schedule that names the transport, the other one is right on hosts of any size.
func TestWhatRunsOtherwise(t *testing.T) {
	const fields = "pipeline: p2p, transfers: ahead, streams: 2"
	for spec, preferred := range map[string]string{
		"ag_matmul_p2p": "ipc-get", "ag_linear_p2p": "ipc-get", "allgather_p2p": "ipc-get",
		"matmul_rs_p2p": "ipc-put", "matmul_ar_p2p": "ipc-put",
	} {
		lowered := func(more string) *hostir.Program {
			p := problem{operation: strings.TrimSuffix(spec, "_p2p"), ranks: 4, m: 32, n: 16, k: 16}
			return lowerAt(t, autoSpec(t, spec, "{"+fields+more+"}"), p)
		}
		both := lowered(", transport: auto, copy: kernel, signals: batched")
		if both.Otherwise == nil {
			t.Errorf("%s: nothing runs otherwise", spec)
			continue
		}
		both.Otherwise = nil
		if want := text.Print(lowered(", copy: kernel, signals: batched, transport: " + preferred)); text.Print(both) != want {
			t.Errorf("%s: over CUDA IPC it is\n%s\nnot\n%s", spec, text.Print(both), want)
		}
	}
}

// TestNothingRunsOtherwiseWithoutSharedMemory: where no slices are exchanged there is NCCL alone.
func TestNothingRunsOtherwiseWithoutSharedMemory(t *testing.T) {
	for _, schedule := range []string{"{transport: auto, pipeline: eager}", "{transport: auto, pipeline: p2p}"} {
		p := problem{operation: "ag_matmul", ranks: 2, m: 8, n: 8, k: 8}
		spec := autoSpec(t, "ag_matmul_p2p", schedule)
		if strings.Contains(schedule, "p2p") { // nothing is split over ranks
			spec = strings.Replace(spec, "[DIDx, M/D, K]", "[D, M/D, K]", 1)
		}
		program := lowerAt(t, spec, p)
		if program.Otherwise != nil || program.Choices.Transport != "nccl" {
			t.Errorf("%s gives\n%s", schedule, text.Print(program))
		}
	}
}
