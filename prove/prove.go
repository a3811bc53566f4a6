// Package prove proves properties of a program of calls before it is compiled. No two accesses race, no rank waits forever, flags
// and NCCL calls are paired, and every access lies within its memory. The package uses only the program, as it is printed, the
// rules of CUDA and NCCL and, for the check of values, the model. It does not depend on the passes that made the program.
// docs/verification.md lists what is modelled, assumed and not covered.
//
// Every call issues the same operations (package unroll), and only streams order operations of different calls. So two calls in a
// row imply any number of calls. Suppose that an access in call k conflicts with an operation in call k+n, n > 1. Then it
// conflicts with the same operation in call k+1, and the proof orders the two. By stream order, the operation in call k+1 comes
// before the operation in call k+n. A cycle of waits lies within one call, since dependencies between calls lead from earlier to
// later calls. The check `flags` proves that a sequence number grows by the same amount on the rank that writes and on the rank
// that waits.
package prove

import (
	"errors"
	"sync"
	"time"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/unroll"
	"github.com/hirgen/hirgen/prove/values"
)

// Calls is the number of consecutive calls that are checked for races.
const Calls = 2

// Check names a property that is proved.
type Check string

// The checks. The variable steps has the order in which they run. Serial, Queue and Load belong to Deadlock, and
// Computed runs last.
const (
	Memory    Check = "memory"                     // operands exist, and lie within their memory
	Operands  Check = "operands"                   // operands that share bytes are in place or only read; no element is written twice
	Alignment Check = "alignment"                  // operands have the alignment that their operations need
	Capture   Check = "capture"                    // captured streams are forked from the caller's stream, and joined
	Records   Check = "events"                     // each wait has a record before it in the call
	FlagPairs Check = "flags"                      // each flag is written once and waited for, with one sequence number
	NcclPairs Check = "collectives"                // ranks make the same NCCL calls in the same order
	Deadlock  Check = "deadlock"                   // everything ends (a) if the GPU runs everything at once that streams allow
	Serial    Check = "deadlock, serialized"       // (b) if the communications of a GPU run one after the other, in the order of issue
	Queue     Check = "deadlock, one queue"        // (c) if the streams of a GPU share one hardware queue
	Load      Check = "deadlock, loading"          // (e) if the host waits, to load a kernel, for everything that it issued before
	Spinning  Check = "deadlock, spinning kernels" // (d) if a kernel that waits leaves no SMs to others
	Computed  Check = "values"                     // each output has the values that the model computes
	// memory, streams and events are created before their uses on each rank, and freed once, after their uses on any rank
	Lifetimes   Check = "lifetimes"
	RaceFreedom Check = "races"      // conflicting accesses to the same bytes are ordered
	Overwrites  Check = "overwrites" // no buffer is used again after another buffer has overwritten its bytes
)

// Report is the result of a proof.
type Report struct {
	Program    string    `json:"program"`
	File       string    `json:"spec"`
	Ranks      int       `json:"ranks"`
	Calls      int       `json:"calls"`
	Operations int       `json:"operations"` // per call, of all ranks
	Layouts    int       `json:"layouts"`    // how many assignments of ranks to nodes were checked
	Checked    []Check   `json:"checked"`
	Findings   []Finding `json:"findings"`
	Seconds    float64   `json:"seconds"`
}

// Proved reports whether the program is correct: all findings are warnings.
func (r *Report) Proved() bool {
	for i := range r.Findings {
		if r.Findings[i].Severity != Warning {
			return false
		}
	}
	return true
}

// Emits reports whether the program may be written. Its values may be undecided; then the check in the emitted program decides.
func (r *Report) Emits() bool {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == Error || f.Severity == Undecided && f.Check != Computed {
			return false
		}
	}
	return true
}

// Program runs all checks except Computed, on all ranks of the program's world. It returns an error if the program
// cannot be issued at all.
func Program(p *calls.Program) (*Report, error) { return Against(p, nil) }

// Against does the checks of Program. If they succeed and load is not nil, it also compares the computed values with
// the model. A panic of a check is a finding that is not decided, and the remaining checks are not made.
func Against(p *calls.Program, load values.Load) (report *Report, err error) {
	start := time.Now()
	report = &Report{Program: p.Name, File: p.File, Calls: Calls, Findings: []Finding{}}
	v := &verification{}
	defer func() {
		if failure := recover(); failure != nil {
			found := internalError(v.check, &values.InternalError{Failure: failure}, p.File)
			found.Layout = v.layout
			report.Findings = append(report.Findings, *found)
		}
		if report != nil { // otherwise the program cannot be issued
			report.Seconds = time.Since(start).Seconds()
		}
	}()
	var sized *values.Sized
	for _, l := range layouts(p) {
		v.check, v.layout = Memory, l.name // Unroll finds operations without memory
		u, err := unroll.Unroll(p, l.nodes)
		if err != nil {
			return nil, err
		}
		report.Ranks, report.Operations = len(u.Ranks), max(report.Operations, u.Operations())
		report.Layouts++
		*v = verification{p: u, report: report, layout: l.name, nodes: l.nodes}
		v.run()
		if load != nil && report.Proved() {
			v.check = Computed
			u.Ranks = nil // a program at other extents takes as much memory
			sized = v.computed(load, sized)
			report.recordCheck(Computed)
		}
	}
	return report, nil
}

// Each does the checks of Against for the variants of a program, concurrently.
func Each(variants []*calls.Program, load values.Load) ([]*Report, error) {
	reports, failures := make([]*Report, len(variants)), make([]error, len(variants))
	var all sync.WaitGroup
	for i, p := range variants {
		all.Go(func() { reports[i], failures[i] = Against(p, load) })
	}
	all.Wait()
	return reports, errors.Join(failures...)
}

// verification checks an unrolled program.
type verification struct {
	p      *unroll.Program
	report *Report
	layout string
	nodes  []int
	check  Check // the current check
}

// steps lists the checks and their functions, in the order in which they run.
var steps = []struct {
	check Check
	run   func(*verification)
}{
	{Memory, (*verification).memory},
	{Operands, (*verification).operands},
	{Operands, (*verification).exchanges},
	{Alignment, (*verification).aligned},
	{Capture, (*verification).capture},
	{Records, (*verification).records},
	{FlagPairs, (*verification).flags},
	{NcclPairs, (*verification).collectives},
	{Deadlock, (*verification).deadlock},
	{Spinning, (*verification).spinning},
	{Lifetimes, (*verification).lifetimes},
	{RaceFreedom, (*verification).races},
	{Overwrites, (*verification).overwrites},
}

// run makes all checks. It stops after the check of memory if that finds an error.
func (v *verification) run() {
	for _, step := range steps {
		before := len(v.report.Findings)
		v.check = step.check
		step.run(v)
		v.report.recordCheck(step.check)
		if step.check == Memory && len(v.report.Findings) > before {
			v.add(Finding{Check: Memory, Severity: Undecided,
				Message: "the other checks are not made, since not all operations can be issued as they stand"})
			return
		}
	}
}

func (v *verification) add(f Finding) {
	f.Layout = v.layout
	v.report.Findings = append(v.report.Findings, f)
}

// layout assigns ranks to nodes.
type layout struct {
	name  string
	nodes []int
}

// layouts lists the assignments of ranks to nodes on which a program is checked. A program that depends on them is checked on
// three: all ranks on one node, half of them on each of two nodes, and each rank on a separate node.
func layouts(p *calls.Program) []layout {
	if !calls.AsksForNodes(p.Body) {
		return []layout{{}}
	}
	ranks := len(p.Ranks())
	halves, apart := make([]int, ranks), make([]int, ranks)
	for r := range ranks {
		halves[r], apart[r] = 2*r/ranks, r
	}
	return []layout{{"all ranks on one node", nil}, {"half of the ranks on each of two nodes", halves},
		{"each rank on a node of its own", apart}}
}
