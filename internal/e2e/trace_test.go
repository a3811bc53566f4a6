package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// TestTraceHasEveryCall compares the traces of programs with the calls that each rank should make: collectives,
// NCCL's sends in groups, and flags and copies over CUDA IPC.
func TestTraceHasEveryCall(t *testing.T) {
	const ranks, calls = 2, 2
	for _, name := range []string{"mlp_tp", "ag_matmul_p2p", "matmul_ar_p2p"} {
		spec, values := example(t, "../../testdata/specs/"+name+"/spec.yaml", row(ranks))
		program := examples.make(t, spec, values)
		host, err := text.Parse("host_ir.txt", examples.source(t, "host_ir.txt"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := lowering.Calls(host, lowering.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range []int64{0, 7} {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				tr, r := traced(t, program, ranks, seed, fmt.Sprint(calls))
				for rank := range ranks {
					want := expected(t, p.Program, int64(rank))
					for call := 1; call <= calls; call++ {
						if got := tr.callsOf(rank, call); !maps.Equal(got, want) {
							t.Errorf("rank %d, call %d has\n%v\nwant\n%v", rank, call, got, want)
						}
					}
				}
				tr.checkTracks(t)
				tr.checkWaits(t)
				tr.checkCollectives(t, ranks)
				tr.checkAxis(t, r, calls)
			})
		}
	}
}

// TestTraceHasKernelsAndBatches counts the slices of a program with batches of flags and a kernel of the runtime.
func TestTraceHasKernelsAndBatches(t *testing.T) {
	spec, values := example(t, "../../testdata/specs/matmul_ar_peer_read/spec.yaml", row(2))
	tr, _ := traced(t, examples.make(t, spec, values), 2, 0, "1")
	want := map[string]int{"gemm": 1, "flag write": 3, "flag wait": 2, "kernel": 1, "event record": 4, "event wait": 2}
	for rank := range 2 {
		got := map[string]int{}
		for _, s := range tr.slices {
			if s.rank == rank {
				got[s.kind]++
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("rank %d calls %v, want %v", rank, got, want)
		}
	}
}

// TestTraceHasAttentions runs an attention and its gradient, which are calls of the runtime.
func TestTraceHasAttentions(t *testing.T) {
	spec, err := os.ReadFile("../../testdata/layers/attention.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const timed = "\nschedule: {preset: auto, graph: false}\n" // calls in a graph are not timed
	program := folder{"layers"}.make(t, renamed.ReplaceAllString(string(spec), "name: example")+timed, params{"D": 2})
	tr, _ := traced(t, program, 2, 0, "1")
	found := map[string]bool{}
	for _, s := range tr.slices {
		if s.kind == "kernel" && strings.HasPrefix(s.statement, "attention into ") {
			found[s.statement] = true
		}
	}
	for _, op := range []string{"O", "dQ"} {
		if !found["attention into "+op] {
			t.Errorf("no slice is the attention into %s: %v", op, slices.Sorted(maps.Keys(found)))
		}
	}
}

// callsOf counts what a rank did in a call of the program, by the text that expected uses.
func (tr trace) callsOf(rank, call int) map[string]int {
	calls := map[string]int{}
	for _, s := range tr.slices {
		if s.rank != rank || s.call != call {
			continue
		}
		calls[s.kind+" "+s.statement]++
		for _, label := range s.andAlso {
			_, statement, _ := strings.Cut(label, " ")
			calls[s.kind+" "+statement]++
		}
	}
	return calls
}

// checkTracks checks that a stream does one thing after the other, in the order of issue, and has a name.
func (tr trace) checkTracks(t *testing.T) {
	t.Helper()
	last := map[[2]int]slice{}
	names := map[string]bool{}
	for _, s := range tr.slices {
		track := [2]int{s.rank, s.track}
		if before, ok := last[track]; ok && (s.begin < before.end || s.id <= before.id) {
			t.Errorf("%+v\nbegins before the end of\n%+v", s, before)
		}
		last[track] = s
		names[tr.names[track]] = true
	}
	if !names["caller"] || !names["compute 0"] || names[""] || names["stream"] {
		t.Errorf("the streams are called %v", slices.Sorted(maps.Keys(names)))
	}
}

// checkWaits checks that every wait for an event names a record that was issued before it, and does not end before that
// record.
func (tr trace) checkWaits(t *testing.T) {
	t.Helper()
	byID := map[[2]int]slice{}
	waits := 0
	for _, s := range tr.slices {
		byID[[2]int{s.rank, s.id}] = s
		if s.kind != "event wait" {
			continue
		}
		waits++
		record, ok := byID[[2]int{s.rank, s.record}]
		if !ok || record.kind != "event record" || s.end+tr.error < record.end {
			t.Errorf("%+v\nwaits for\n%+v", s, record)
		}
	}
	if waits == 0 {
		t.Error("nothing waits for an event")
	}
}

// checkCollectives checks that no rank ends a collective before all ranks have begun it. This compares ranks, so it
// fails if their times are not on one axis.
func (tr trace) checkCollectives(t *testing.T, ranks int) {
	t.Helper()
	met := map[string][]slice{}
	for _, s := range tr.slices {
		if s.kind == "nccl" && len(s.andAlso) == 0 {
			key := fmt.Sprint(s.call, s.index, s.statement)
			met[key] = append(met[key], s)
		}
	}
	for key, all := range met {
		if len(all) != ranks {
			t.Errorf("%s: %d ranks", key, len(all))
		}
		for _, a := range all {
			for _, b := range all {
				if a.end+2*tr.error < b.begin {
					t.Errorf("%+v\nends before\n%+v\nbegins", a, b)
				}
			}
		}
	}
}

// checkAxis checks that times begin at zero and fit into the run, and that no call ends before it begins. The file and
// the output have to state the error of the axis and the cost of tracing.
func (tr trace) checkAxis(t *testing.T, r result, calls int) {
	t.Helper()
	first, last := tr.slices[0].begin, int64(0)
	for _, s := range tr.slices {
		if s.end < s.begin {
			t.Errorf("%+v ends before it begins", s)
		}
		first, last = min(first, s.begin), max(last, s.end)
	}
	if first != 0 || last <= 0 || last > r.took.Nanoseconds() {
		t.Errorf("times run from %d to %d ns in a run of %v", first, last, r.took)
	}
	about := tr.about
	if about.Calls != calls || about.Program != "example" || about.Traced <= 0 || about.Untraced <= 0 {
		t.Errorf("the file is about %+v", about)
	}
	// The error is the 0.5 us resolution of event times, plus at most half of the shortest of many round trips to the device. Some
	// round trips are short even on a busy computer.
	if about.AlignmentError < 0.5 || about.AlignmentError > 1000 {
		t.Errorf("the clocks are aligned within %g us", about.AlignmentError)
	}
	for _, want := range []string{
		fmt.Sprintf("# Trace: %d slices of %d calls on 2 ranks in ", len(tr.slices), calls),
		fmt.Sprintf("# Trace: device clocks aligned within %.2f us; a call takes %.2f us traced and %.2f us untraced", about.AlignmentError,
			about.Traced, about.Untraced),
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s", want, r)
		}
	}
}

// TestTraceShowsWhatCouldRunAtOnce checks in traces that the allgather of a slice can run at the same time as the GEMM of
// the slice before, and never at the same time as the GEMM of its own slice.
func TestTraceShowsWhatCouldRunAtOnce(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2, "S": 4, "M": 256, "N": 64, "K": 64})
	beside := 0
	for seed := range int64(6) {
		tr, _ := traced(t, program, 2, seed, "2")
		for _, gather := range tr.slices {
			if gather.kind != "nccl" {
				continue
			}
			for _, gemm := range tr.slices {
				if gemm.kind != "gemm" || gemm.rank != gather.rank || gemm.call != gather.call || !gather.couldRunWith(gemm) {
					continue
				}
				switch gather.index {
				case gemm.index:
					t.Errorf("seed %d: the GEMM of slice %d goes on beside its allgather:\n%+v\n%+v", seed, gemm.index, gemm, gather)
				case gemm.index + 1:
					beside++
				}
			}
		}
	}
	if beside == 0 {
		t.Error("no allgather goes on beside the GEMM of the slice before")
	}
}

// TestTraceAlignsClocks runs a rank in a time namespace, where the steady clock is a million seconds
// ahead, as that of another node can be.
func TestTraceAlignsClocks(t *testing.T) {
	ahead := "unshare --time --fork --kill-child --monotonic 1000000"
	if err := exec.Command("sh", "-c", ahead+" true").Run(); err != nil {
		t.Skipf("%s: %v", ahead, err)
	}
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	script := filepath.Join(t.TempDir(), "ahead")
	lines := fmt.Sprintf("#!/bin/sh\ncase $HIRGEN_RANK in 1) exec %s '%s' \"$@\";; *) exec '%s' \"$@\";; esac\n", ahead, program, program)
	if err := os.WriteFile(script, []byte(lines), 0o755); err != nil {
		t.Fatal(err)
	}
	tr, r := traced(t, script, 2, 0, "2")
	tr.checkCollectives(t, 2)
	if tr.slices[len(tr.slices)-1].end > r.took.Nanoseconds() || tr.about.AlignmentError > 10_000 {
		t.Errorf("the clocks are aligned within %g us, and times run to %d ns in %s", tr.about.AlignmentError, tr.slices[len(tr.slices)-1].end, r)
	}
	t.Logf("aligned within %g us", tr.about.AlignmentError)
}

// TestATraceOfAGraphIsRefused checks that --trace refuses a program with a CUDA graph, whose calls cannot be timed one
// by one.
func TestATraceOfAGraphIsRefused(t *testing.T) {
	captured := plain
	captured.graph = true
	program := shared.make(t, agMatmul(captured), params{"D": 2})
	r := run(t, launch.Options{Program: program, N: 2, Args: []string{"--trace", filepath.Join(t.TempDir(), "trace.json")}})
	if r.exit != 2 || !strings.Contains(r.stderr, "emit it with schedule `graph: false`") {
		t.Errorf("want exit code 2 and a hint, got %s", r)
	}
}
