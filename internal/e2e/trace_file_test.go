package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// slice is one call in the file of --trace. Times are nanoseconds.
type slice struct {
	rank, track int
	kind        string   // "gemm", "event wait", ...
	statement   string   // "allgather of A"
	andAlso     []string // labels of later NCCL calls of the same group, such as "spec.yaml:12:5 send of A"
	call, index int      // call of the program, from 1; index of the statement's function within the call, from 0
	id          int      // within the rank, in the order of issue
	record      int      // for an event wait: the id of the record that it waits for; -1 for none
	begin, end  int64
}

// couldRunWith reports whether streams and events let both calls run at the same time. On the CPU device a call begins
// when its turn on the stream comes, even if the seed runs it later.
func (s slice) couldRunWith(other slice) bool { return s.begin < other.end && other.begin < s.end }

// trace is the content of a file of --trace.
type trace struct {
	slices []slice
	names  map[[2]int]string // names of the tracks, by rank and track
	error  int64             // error of the time axis, in nanoseconds
	about  traceAbout
}

type traceAbout struct {
	Program        string
	Calls          int
	AlignmentError float64 `json:"alignment_error_us"`
	Untraced       float64 `json:"us_per_call_untraced"`
	Traced         float64 `json:"us_per_call_traced"`
}

// traceEvent is an element of traceEvents.
type traceEvent struct {
	Ph       string
	Name     string
	Cat      string
	Pid, Tid int
	Ts, Dur  float64
	Args     struct {
		Name, Where, Statement, Function string
		AndAlso                          []string `json:"and_also"`
		Call, Index, ID                  int
		Record                           *int
	}
}

// readTrace reads a file of --trace.
func readTrace(t *testing.T, path string) trace {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		OtherData   traceAbout
		TraceEvents []traceEvent
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	nanoseconds := func(us float64) int64 { return int64(math.Round(us * 1000)) }
	tr := trace{names: map[[2]int]string{}, about: file.OtherData, error: nanoseconds(file.OtherData.AlignmentError)}
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph == "M" && e.Name == "thread_name":
			tr.names[[2]int{e.Pid, e.Tid}] = e.Args.Name
		case e.Ph == "X":
			s := slice{
				rank: e.Pid, track: e.Tid, kind: e.Cat, statement: e.Args.Statement, andAlso: e.Args.AndAlso, call: e.Args.Call,
				index: e.Args.Index, id: e.Args.ID, record: -1, begin: nanoseconds(e.Ts), end: nanoseconds(e.Ts) + nanoseconds(e.Dur),
			}
			if e.Args.Record != nil {
				s.record = *e.Args.Record
			}
			if !strings.HasPrefix(e.Args.Where, "spec.yaml:") || e.Args.Function == "" {
				t.Errorf("a slice has no line of the spec, or no function: %+v", e)
			}
			tr.slices = append(tr.slices, s)
		}
	}
	return tr
}

// traced runs a program on its ranks and reads its trace.
func traced(t *testing.T, program string, ranks int, seed int64, times string) (trace, result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.json")
	r := run(t, launch.Options{
		Program: program, N: ranks, Seed: seed,
		Args: []string{"--trace", path, "--iters", times, "--repeats", "1", "--warmup", "0", "--checks", "1"},
	})
	r.mustPass(t)
	return readTrace(t, path), r
}

// expected counts the calls that a rank makes of each kind, in one call of a program, by the text
// "kind statement".
func expected(t *testing.T, p *calls.Program, rank int64) map[string]int {
	t.Helper()
	e := &expecting{issue.New(p, nil).Rank(int32(rank)), map[string]string{}, map[string]int{}}
	for _, label := range p.Labels {
		_, e.statements[label.Name], _ = strings.Cut(label.Text, " ")
	}
	e.Run(p.Body, e.visit)
	return e.counts
}

// expecting counts the calls of a rank.
type expecting struct {
	*issue.Rank
	statements map[string]string // statements by label of their calls
	counts     map[string]int
}

func (e *expecting) visit(s calls.Stmt) {
	if group, ok := s.(*calls.NcclGroup); ok {
		e.Run(group.Body, e.visit)
	}
	if kind, ok := kinds[calls.Op(s)]; ok {
		e.counts[kind+" "+e.statements[s.Meta().Label]]++
	}
}

// kinds maps statements to their kinds in a trace.
var kinds = map[string]string{
	"EventRecord": "event record", "StreamWait": "event wait", "FlagWrite": "flag write", "FlagWait": "flag wait",
	"Memcpy": "copy", "NcclCall": "nccl", "Gemm": "gemm", "Launch": "kernel",
}
