package interp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// sizes lists small values for the parameters of specs.
var sizes = map[string]int64{
	"S": 4, "M": 32, "N": 8, "K": 8, "B": 2, "L": 8, "H": 16, "G": 8, "C": 4, "D": 4, "R": 2,
}

// small loads a spec with small sizes, on d ranks along the axes of extent D.
func small(t *testing.T, path string, d int64, schedule ...model.Setting) *model.Pipeline {
	t.Helper()
	spec, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := model.Load("spec.yaml", spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, p := range whole.Params {
		if size, ok := sizes[p.Name]; ok {
			values[p.Name] = size
		}
		if p.Name == "D" {
			values["D"] = d
		}
	}
	p, err := model.Load("spec.yaml", spec, values, schedule...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// specs returns the paths of the examples, of the specs on grids, and of the specs in prove/testdata that revealed
// mistakes.
func specs(t *testing.T) []string {
	t.Helper()
	examples, _ := filepath.Glob("../../testdata/specs/*/spec.yaml")
	grids, _ := filepath.Glob("../../testdata/grids/*.yaml")
	found, _ := filepath.Glob("../../prove/testdata/specs/*.yaml")
	if len(examples) == 0 || len(grids) == 0 || len(found) == 0 {
		t.Fatal("there are no specs")
	}
	return slices.Concat(examples, grids, found)
}

// TestCallsComputeWhatTheModelSays checks that the calls of every spec give the evaluator's result, in the orders that
// a few seeds pick. Reading the printed calls has to give the same text, and the verifier has to accept them.
func TestCallsComputeWhatTheModelSays(t *testing.T) {
	for _, path := range specs(t) {
		for _, d := range []int64{2, 4} {
			t.Run(fmt.Sprint(filepath.Base(filepath.Dir(path)), "/", filepath.Base(path), "/D=", d), func(t *testing.T) {
				pipeline := small(t, path, d)
				program, err := lowering.Host(pipeline, lowering.Options{})
				if err != nil {
					t.Fatal(err)
				}
				check(t, lowertest.NewOracle(t, pipeline, 1), program, 4)
			})
		}
	}
}

// check runs the calls of a program with several seeds on one node, and the calls of its fallback variant with all
// lowertest.Partitions of ranks to nodes.
func check(t *testing.T, oracle *lowertest.Oracle, program *hostir.Program, seeds uint64) {
	t.Helper()
	for i, form := range program.Variants() {
		nodes := [][]int{nil}
		if i > 0 {
			nodes = lowertest.Partitions(len(oracle.Inputs))
		}
		p := lowered(t, form)
		for _, on := range nodes {
			for seed := range seeds + 1 {
				got, err := ordered(seed, seeds)(p, on, oracle.Inputs, seed)
				if err == nil {
					err = oracle.Compare(got, seed)
				}
				if err != nil {
					t.Fatalf("nodes %v: %v\n%s", on, err, text.Print(p))
				}
			}
		}
	}
}

// ordered returns the function with which check runs a seed. With the last seed, communications run one after the
// other.
func ordered(seed, last uint64) func(*calls.Program, []int, []map[string]*Array, uint64) ([]map[string]*Array, error) {
	if seed == last {
		return RunSerialized
	}
	return Run
}

// lowered returns the calls of a host program, printed and parsed again.
func lowered(t *testing.T, program *hostir.Program) *calls.Program {
	t.Helper()
	p, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Program(p.Program); err != nil {
		t.Fatalf("%v\n%s", err, text.Print(p.Program))
	}
	printed := text.Print(p.Program)
	again, err := text.Parse("calls", printed)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if diff := cmp.Diff(printed, text.Print(again)); diff != "" {
		t.Fatalf("the text is not read back (-printed +again):\n%s", diff)
	}
	return again
}

// schedules lists the schedules that TestSchedules tries with each of pipelines.
var schedules = []string{
	"all.via: nccl", "preset: reference, pipeline: p2p, all.via: nccl, initial_waits: fused", "all.via: ipc-get", "all.via: ipc-put",
	"preset: reference, pipeline: p2p, all.via: ipc-get", "all.via: ipc-get, all.lead: none", "all.via: ipc-put, all.lead: none, streams: 2",
	"all.via: ipc-get, streams: 2", "all.via: ipc-put, all.local: last, streams: 1", "all.via: ipc-get, all.signals: batched, streams: 0",
	"all.via: ipc-put, all.copy: sm", "all.via: ipc-get, all.copy: fused, all.signals: batched", "all.via: ipc-get, graph: true",
	"all.via: ipc-put, graph: true, all.steps: pairwise", "transport: auto", "transport: auto, all.steps: ring",
	"all.via: ipc-put, all.local: last, all.split: 2, all.interchange: true",
	"all.via: ipc-put, all.steps: ring", "all.via: nccl, all.steps: ring, all.fuse: gemm", "all.via: ipc-get, all.fuse: peer-read",
	"all.via: ipc-get, all.fuse: peer-read, all.signals: batched, graph: true",
	"preset: reference, pipeline: p2p, all.via: ipc-put, local_shard: copied, buffers: free", "all.via: ipc-get, all.split: 2, streams: 3",
	"all.via: ipc-put, all.split: 2, all.steps: bracket, streams: 2", "all.via: ipc-get, all.lead: 1",
	"all.via: ipc-put, all.lead: 2, all.split: 2, streams: 2",
}

// pipelines lists the specs of TestSchedules.
var pipelines = []string{
	"../../testdata/specs/ag_matmul_p2p/spec.yaml", "../../testdata/specs/matmul_rs_p2p/spec.yaml",
	"../../testdata/specs/matmul_ar_p2p/spec.yaml", "../../testdata/specs/allgather_p2p/spec.yaml",
	"../../testdata/specs/ag_linear_p2p/spec.yaml", "testdata/some_ranks.yaml",
}

// settings parses "path: value, path: value".
func settings(schedule string) []model.Setting {
	var list []model.Setting
	for part := range strings.SplitSeq(schedule, ", ") {
		path, value, _ := strings.Cut(part, ": ")
		list = append(list, model.Setting{Path: path, Value: value})
	}
	return list
}

// TestSchedules checks that no schedule changes the result of a point-to-point pipeline. A pipeline may reject a
// schedule, with a position in the spec, but every schedule has to be accepted by some pipeline.
func TestSchedules(t *testing.T) {
	const least = 120
	accepted := 0
	for _, schedule := range schedules {
		before := accepted
		for _, path := range pipelines {
			t.Run(filepath.Base(filepath.Dir(path))+"/"+schedule, func(t *testing.T) {
				pipeline := small(t, path, 4, append([]model.Setting{{Path: "pipeline", Value: "p2p"}}, settings(schedule)...)...)
				program, err := lowering.Host(pipeline, lowering.Options{})
				if err == nil {
					accepted++
					check(t, lowertest.NewOracle(t, pipeline, 1), program, 3)
					return
				}
				if refused := (*diag.Errors)(nil); !errors.As(err, &refused) {
					t.Errorf("it is refused without a place: %v", err)
				}
			})
		}
		if accepted == before {
			t.Errorf("no pipeline can have %s", schedule)
		}
	}
	if accepted < least {
		t.Errorf("only %d programs ran", accepted)
	}
	t.Logf("%d programs ran", accepted)
}

// TestEveryWaitIsNeeded removes each wait for an event or a flag from a program, one at a time. For some seed, the
// result then has to be wrong, or the run has to fail: otherwise the wait would be redundant.
func TestEveryWaitIsNeeded(t *testing.T) {
	for _, c := range []struct{ name, schedule string }{
		{"ag_matmul", "streams: 2"}, {"ag_matmul", "streams: 4"}, {"mlp_tp", "streams: 2"}, {"ag_matmul_p2p", "all.via: ipc-get, all.lead: none"},
		{"ag_matmul_p2p", "all.via: ipc-get, all.lead: 1"},
		{"ag_matmul_p2p", "all.via: nccl"}, {"matmul_rs_p2p", "all.via: ipc-put, all.lead: none"}, {"matmul_rs_p2p", "all.via: ipc-get"},
		{"matmul_rs_p2p", "all.via: ipc-put, all.signals: batched, streams: 1"},
		{"ag_matmul_p2p", "all.via: ipc-get, all.signals: batched, streams: 0"},
	} {
		t.Run(c.name+"/"+c.schedule, func(t *testing.T) {
			pipeline := small(t, "../../testdata/specs/"+c.name+"/spec.yaml", 2, settings(c.schedule)...)
			program, err := lowering.Host(pipeline, lowering.Options{})
			if err != nil {
				t.Fatal(err)
			}
			oracle, whole := lowertest.NewOracle(t, pipeline, 1), lowered(t, program)
			for i := range waits(whole) {
				mutant, removed := without(t, whole, i)
				if !failsForSomeSeed(oracle, mutant) {
					t.Errorf("without %s nothing goes wrong\n%s", removed, text.Print(mutant))
				}
			}
		})
	}
}

// waits counts the StreamWaits and FlagWaits of a program.
func waits(p *calls.Program) int {
	n := 0
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		if isWait(s) {
			n++
		}
		return true
	})
	return n
}

func isWait(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.StreamWait, *calls.FlagWait:
		return true
	}
	return false
}

// without returns a copy of a program that lacks the i-th wait, and the text of this wait.
func without(t *testing.T, p *calls.Program, i int) (mutant *calls.Program, removed string) {
	t.Helper()
	mutant, err := text.Parse("mutant", text.Print(p))
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	mutant.Body = calls.Edit(mutant.Body, func(s calls.Stmt) []calls.Stmt {
		if isWait(s) {
			if n++; n == i {
				removed = text.Statement(s)
				return nil
			}
		}
		return []calls.Stmt{s}
	})
	return mutant, removed
}

// failsForSomeSeed reports whether a program fails or has a wrong result for one of 200 seeds.
func failsForSomeSeed(oracle *lowertest.Oracle, p *calls.Program) bool {
	for seed := range uint64(200) {
		got, err := Run(p, nil, oracle.Inputs, seed)
		if err != nil || oracle.Compare(got, seed) != nil {
			return true
		}
	}
	return false
}
