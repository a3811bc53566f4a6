package lowering_test

import (
	"fmt"
	"strings"
	"testing"

	callsinterp "github.com/hirgen/hirgen/calls/interp"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// wholeRows lists layers whose rows are a single axis, and whose specs have no Stream axis.
var wholeRows = []string{
	"llama_mlp", "llama_attention", "llama_block", "llama_block_backward", "gpt_block", "gpt_block_backward", "mlp_sp", "mlp_sp_backward",
	"transformer_block",
}

// TestWholeRowsArePipelines runs the host program and the calls of the layers in wholeRows in their interpreters with
// pipeline: p2p, on 2, 3 or 4 ranks in turn, or on all of these in a full run. Some transfers have to be
// point-to-point, and the results have to be right in several orders of execution.
func TestWholeRowsArePipelines(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for n, text := range []string{
		"{pipeline: p2p, streams: 2, all: {via: ipc-get}}",
		"{pipeline: p2p, streams: 0, all: {via: ipc-put, signals: batched, local: last}}",
		"{pipeline: p2p, streams: 3, buffers: free}",
	} {
		choices := scheduled(t, text)
		for i, layer := range wholeRows {
			for ranks := int64(2); ranks <= 4; ranks++ {
				if !lowering.InTurn(int(ranks), 3, n, i) {
					continue
				}
				t.Run(fmt.Sprintf("%s/x=%d/%s", layer, ranks, text), func(t *testing.T) {
					t.Parallel()
					p := loadLayer(t, layer, ranks)
					p.Schedule = choices
					program, err := lowering.Host(p, lowering.Options{Verify: true})
					if err != nil {
						t.Fatal(err)
					}
					if !exchanges(program) {
						t.Error("nothing goes from rank to rank")
					}
					inEveryOrder(t, p, program, seeds)
				})
			}
		}
	}
}

// exchanges reports whether a program has point-to-point transfers.
func exchanges(p *hostir.Program) bool {
	return hostir.Any(p.Body, func(s hostir.Stmt) bool {
		_, sends := s.(*hostir.P2PCommunication)
		return sends
	})
}

// inEveryOrder checks the results of a program and of its calls in a number of orders of execution (seeds).
func inEveryOrder(t *testing.T, p *model.Pipeline, program *hostir.Program, seeds uint64) {
	t.Helper()
	lowered, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := lowertest.NewOracle(t, p, 1)
	check := o.Orders(program)
	for seed := range seeds {
		if err := check(seed); err != nil {
			t.Fatal(err)
		}
		got, err := callsinterp.Run(lowered.Program, nil, o.Inputs, seed)
		if err == nil {
			err = o.Compare(got, seed)
		}
		if err != nil {
			t.Fatalf("the calls: %v", err)
		}
	}
}

// scheduled parses the text of a schedule, as a spec has it.
func scheduled(t *testing.T, text string) schedule.Schedule {
	t.Helper()
	spec := strings.Join([]string{
		"hirgen: 1", "name: scheduled", "mesh: {x: 2}", "tensors: {A: [DIDx, 2], B: [Stream(2), 2]}", "ops: [B = set(A)]",
		"schedule: " + text, "",
	}, "\n")
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Schedule
}
