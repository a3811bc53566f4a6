package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	choices "github.com/hirgen/hirgen/model/schedule"
)

// exchanges is the folder of the point-to-point programs, which all have one name.
var exchanges = folder{"exchanges"}

// pointToPoint reads an example spec and replaces its schedule by a p2p pipeline over via, or with transport: auto, on two
// streams, with the fields more, and with lead: none unless they set lead.
func pointToPoint(t *testing.T, name, via string, more ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "name:"):
			line = "name: exchange\n"
		case strings.HasPrefix(line, "schedule:"):
			how := "via: " + via
			if via == choices.Auto {
				how = "transport: auto"
			}
			fields := append([]string{"pipeline: p2p", how, "streams: 2"}, more...)
			if !slices.ContainsFunc(more, func(field string) bool { return strings.HasPrefix(field, "lead: ") }) {
				fields = append(fields, "lead: none")
			}
			line = "schedule: " + scheduleOf(fields...) + "\n"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// scheduleOf returns a schedule with these fields. It sets fields of communications for all communications, and adds the
// preset reference if a field needs that preset. It omits a lead with the default value, because a stated lead is refused
// where edges forbid it.
func scheduleOf(fields ...string) string {
	var program, all []string
	preset := ""
	for _, text := range fields {
		name, value, _ := strings.Cut(text, ": ")
		f, _ := choices.Named(name)
		if f.Reference != "" || value == choices.Reverse {
			preset = "preset: reference, "
		}
		switch {
		case name == choices.Lead && value == f.Default:
		case f.Scope == choices.Communication:
			all = append(all, text)
		default:
			program = append(program, text)
		}
	}
	if len(all) > 0 {
		program = append(program, "all: {"+strings.Join(all, ", ")+"}")
	}
	return "{" + preset + strings.Join(program, ", ") + "}"
}

// small returns the parameters of a small size.
func small(spec string, d int64) params {
	values := params{"D": d, "M": 64, "K": 32}
	if spec != "allgather_p2p" {
		values["N"] = 24
	}
	return values
}

// TestPointToPoint runs the pipelines of exchangeCases over every transport, in many orders of execution.
func TestPointToPoint(t *testing.T) {
	for _, c := range exchangeCases() {
		for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
			t.Run(fmt.Sprintf("%s/%s/%s/D=%d", c.spec, transport, c.fields, c.ranks), func(t *testing.T) {
				exchanges := exchanges.beside(t)
				program := exchanges.make(t, pointToPoint(t, c.spec, transport, c.fields...), small(c.spec, c.ranks))
				mustPassInOrders(t, program, c.ranks, transferSeedsOf(8))
			})
		}
	}
}

// exchangeCase is a pipeline whose ranks exchange slices.
type exchangeCase struct {
	spec   string
	ranks  int64
	fields []string // fields of the schedule, in addition to the fields of all cases
}

// exchangeCases returns some cases, or in a full test more of them, each on 2, 4 and 8 ranks.
func exchangeCases() []exchangeCase {
	copied, ring := []string{"local_shard: copied"}, []string{"steps: ring"}
	if !full {
		return []exchangeCase{
			{"ag_matmul_p2p", 4, nil}, {"ag_linear_p2p", 2, copied},
			{"allgather_p2p", 4, copied}, {"matmul_rs_p2p", 4, nil},
			{"matmul_rs_p2p", 2, copied}, {"matmul_ar_p2p", 4, nil},
			{"ag_matmul_p2p", 4, ring}, {"matmul_rs_p2p", 4, ring},
		}
	}
	var cases []exchangeCase
	for _, spec := range []string{"ag_matmul_p2p", "ag_linear_p2p", "allgather_p2p", "matmul_rs_p2p", "matmul_ar_p2p"} {
		for _, fields := range [][]string{nil, ring} {
			for _, ranks := range []int64{2, 4, 8} {
				cases = append(cases, exchangeCase{spec, ranks, fields})
			}
		}
	}
	for _, ranks := range []int64{2, 4, 8} {
		cases = append(cases, exchangeCase{"gather_consume", ranks, nil},
			exchangeCase{"produce_exchange", ranks, []string{"local: last", "delay: 5"}})
	}
	return cases
}

// TestFormsOfTransfers runs pipelines with several forms of copies, signals and steps in many orders of execution. With
// graph: true, a CUDA graph has two calls.
func TestFormsOfTransfers(t *testing.T) {
	for _, c := range []struct {
		spec, transport string
		ranks           int64
		fields          []string
	}{
		{"allgather_p2p", "ipc-get", 4, []string{"lead: all", "copy: fused", "signals: batched"}},
		{"ag_matmul_p2p", "ipc-get", 4, []string{"lead: all", "copy: engine", "signals: batched"}},
		{"ag_linear_p2p", "ipc-put", 4, []string{"copy: sm"}},
		{"matmul_rs_p2p", "ipc-put", 4, []string{"lead: all", "copy: sm", "signals: batched", "graph: true"}},
		{"matmul_rs_p2p", "ipc-get", 2, []string{"copy: engine", "graph: true"}},
		{"matmul_ar_p2p", "ipc-put", 4, []string{"lead: all", "copy: fused", "signals: batched", "graph: true"}},
		{"matmul_ar_p2p", "ipc-put", 4, []string{"lead: all", "signals: batched", "local: last", "steps: pairwise", "split: 2",
			"interchange: true"}},
		{"matmul_ar_p2p", "ipc-get", 4, []string{"lead: all", "copy: fused", "graph: true", "split: 4", "interchange: true"}},
		{"matmul_ar_p2p", "ipc-put", 4, []string{"lead: all", "signals: batched", "split: 4", "interchange: true", "block: D"}},
		{"matmul_ar_p2p", "ipc-get", 4, []string{"lead: all", "copy: fused", "graph: true", "split: 2", "interchange: true", "block: D/2"}},
		{"matmul_rs_p2p", "nccl", 4, []string{"local: last", "split: 4", "interchange: true", "block: D/2"}},
	} {
		t.Run(fmt.Sprintf("%s/%s/%s", c.spec, c.transport, strings.Join(c.fields, "/")), func(t *testing.T) {
			exchanges := exchanges.beside(t)
			spec := pointToPoint(t, c.spec, c.transport, c.fields...)
			program := exchanges.make(t, spec, small(c.spec, c.ranks))
			mustPassInOrders(t, program, c.ranks, transferSeedsOf(6), "--calls-per-graph", "2")
		})
	}
}

// axesBetween has an axis between the DIDx axis and the Stream axis of the partial sums P, and before the DIDx axis of
// their sum C.
const axesBetween = `hirgen: 1
name: exchange
params: {D: 4}
mesh: {x: D}
tensors:
  A: [DIDx, 6, D, 4, 8]
  B: [DIDx, 8, 4]
  P: [DIDx, 6, Stream(D), 4, 4]
  C: [r(D), 6, DIDx, 4, 4]
ops:
  - Bb = broadcast(B, axis=1)
  - Bc = broadcast(Bb, axis=2)
  - P = matmul(A, Bc)
  - C = sum(P, axis=0)
schedule: %s
`

func TestAxesBetweenRanksAndSlices(t *testing.T) {
	for _, fields := range [][]string{
		{"via: ipc-get", "streams: 2"}, {"via: ipc-put", "streams: 2", "lead: all", "split: 3", "interchange: true", "block: D"}, {"block: D/2"},
	} {
		program := exchanges.make(t, fmt.Sprintf(axesBetween, scheduleOf(append(fields, "pipeline: p2p")...)), nil)
		mustPassInOrders(t, program, 4, transferSeedsOf(4))
	}
}

// TestWaitsForPeersAreNeeded removes the waits for flags that one kind of call in an emitted program makes, one at a time: for
// some seed elements must then be wrong.
func TestWaitsForPeersAreNeeded(t *testing.T) {
	for _, c := range []struct {
		spec, transport, call string // call is the beginning of the calls to remove
		waits                 int    // how many such calls the program has
		fields                []string
	}{
		{"ag_matmul_p2p", "ipc-get", "cuStreamWaitValue32(", 2, nil}, // one wait for the ready flag and one for the done flag
		{"ag_matmul_p2p", "ipc-put", "cuStreamWaitValue32(", 2, nil},
		{"ag_matmul_p2p", "ipc-get", "launch_flag_wait(", 2, []string{"graph: true"}},
		// the wait of the owner of the memory
		{"ag_matmul_p2p", "ipc-get", "done_flags.submit(", 1, []string{"lead: all", "copy: fused", "signals: batched"}},
		// the wait before a sub-chunk is summed
		{"matmul_ar_p2p", "ipc-put", "done_flags.submit(", 1, []string{"lead: all", "signals: batched", "split: 2", "interchange: true"}},
		{"matmul_ar_p2p", "ipc-put", "done_flags.submit(", 1,
			[]string{"lead: all", "signals: batched", "split: 2", "interchange: true", "block: D"}},
	} {
		spec := pointToPoint(t, c.spec, c.transport, c.fields...)
		waits := exchanges.mustNeedEach(t, spec, small(c.spec, 2), c.call, "exchange.cpp")
		if waits != c.waits {
			t.Errorf("%s %v: found %d waits for a peer in the emitted program, want %d", c.transport, c.fields, waits, c.waits)
		}
	}
}

// TestAStuckWaitOfAnOwnerIsNamed makes owners wait for a flag that no peer sets: the report
// of the deadline must name their wait, not an operation after the wait.
func TestAStuckWaitOfAnOwnerIsNamed(t *testing.T) {
	for named, fields := range map[string][]string{
		"wait_read_A[1] (spec.yaml:": nil,
		"wait_read_A[0] (spec.yaml:": {"lead: all", "copy: fused", "signals: batched"},
	} {
		t.Run(named, func(t *testing.T) {
			exchanges := exchanges.beside(t)
			exchanges.emit(t, pointToPoint(t, "ag_matmul_p2p", "ipc-get", fields...), small("ag_matmul_p2p", 2))
			const right, never = ".done(s)", ".done(0)" // there is no transfer of the local shard
			stuck := exchanges.rebuild(t, "exchange.cpp", strings.ReplaceAll(exchanges.source(t, "exchange.cpp"), right, never))
			r := run(t, launch.Options{Program: stuck, N: 2, Args: []string{"--timeout", "4"}})
			if want := "waits in call 1 for " + named; r.exit == 0 || !strings.Contains(r.stderr, want) {
				t.Errorf("want a report that has %q, got %s", want, r)
			}
		})
	}
}
