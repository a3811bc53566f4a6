// Package prove proves, of a program of calls, what has to hold before anybody builds it: no two accesses race,
// nothing is stuck, flags and NCCL calls are paired, nothing lies outside of its memory. It knows the program as
// it is printed and the rules of CUDA and NCCL, and nothing of how the program came about. docs/verification.md
// says what is modelled, what is assumed and what is not covered.
//
// A call issues the same operations as every other one (package unroll), and operations are ordered from call to
// call by their streams alone. So two calls in a row imply any number of them. If an access in call k conflicts
// with one in call k+n, n > 1, it conflicts with the same operation in call k+1, and is ordered before that one;
// which is ordered before itself in later calls by its stream. A cycle of waits lies within one call, since what
// leads from call to call leads forward; that a flag counts up by as much on who writes it and who waits for it
// is checked.
package prove

import (
	"time"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/prove/unroll"
	"github.com/hirgen/hirgen/lowering/prove/values"
)

// Calls is how many calls in a row are looked at.
const Calls = 2

// Check is one of the things that are proved.
type Check string

// The checks, in the order in which they are made.
const (
	Memory      Check = "memory"                     // what operations name is there, and within its memory
	Operands    Check = "operands"                   // an operation does not write what it reads elsewhere, or twice
	Alignment   Check = "alignment"                  // operands begin at multiples of the bytes that operations access at a time
	Capture     Check = "capture"                    // what is captured is forked from the caller's stream, and joined
	Records     Check = "events"                     // each wait has a record before it in the call
	FlagPairs   Check = "flags"                      // each flag is written once and waited for, with one sequence number
	NcclPairs   Check = "collectives"                // ranks make the same NCCL calls in the same order
	Deadlock    Check = "deadlock"                   // everything happens, (a) if all runs at once that streams allow
	Serial      Check = "deadlock, serialized"       // (b) if communications of a GPU run one after the other, as issued
	Queue       Check = "deadlock, one queue"        // (c) if the streams of a GPU share one hardware queue
	Load        Check = "deadlock, loading"          // (e) if the host waits, to load a kernel, for all that it issued before
	Spinning    Check = "deadlock, spinning kernels" // (d) if a kernel that waits leaves no SMs to others
	Computed    Check = "values"                     // each output is the function of the inputs that the model says
	Lives       Check = "lives"                      // what is used is made before, on each rank, and freed once after, by any rank
	RaceFreedom Check = "races"                      // accesses to the same bytes, one a write, are ordered
	Turns       Check = "turns"                      // of buffers with bytes in common, none is used after another one has had them
)

// Report is what was found of a program.
type Report struct {
	Program    string    `json:"program"`
	File       string    `json:"spec"`
	Ranks      int       `json:"ranks"`
	Calls      int       `json:"calls"`
	Operations int       `json:"operations"` // of all ranks, in a call
	Layouts    int       `json:"layouts"`    // of ranks over nodes, that were looked at
	Checked    []Check   `json:"checked"`
	Findings   []Finding `json:"findings"`
	Seconds    float64   `json:"seconds"`
}

// Proved reports whether the program is right: nothing was found but warnings.
func (r *Report) Proved() bool {
	for i := range r.Findings {
		if r.Findings[i].Severity != Warning {
			return false
		}
	}
	return true
}

// Emits reports whether a program may be written: it is right, but for what it computes where that is not decided,
// which the check in the program then is left to.
func (r *Report) Emits() bool {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == Error || f.Severity == Undecided && f.Check != Computed {
			return false
		}
	}
	return true
}

// Program proves a program, on the ranks of its world, but for what it computes. The error says that it cannot be
// issued at all.
func Program(p *calls.Program) (*Report, error) { return Against(p, nil) }

// Against also proves that it computes what a model says, unless something else is wrong; nil: there is no model.
func Against(p *calls.Program, load values.Load) (*Report, error) {
	start := time.Now()
	report := &Report{Program: p.Name, File: p.File, Calls: Calls, Findings: []Finding{}}
	for _, l := range layouts(p) {
		u, err := unroll.Unroll(p, l.nodes)
		if err != nil {
			return nil, err
		}
		report.Ranks, report.Operations = len(u.Ranks), max(report.Operations, u.Operations())
		report.Layouts++
		v := &verification{p: u, report: report, layout: l.name, nodes: l.nodes}
		v.run()
		if load != nil && report.Proved() {
			u.Ranks = nil // a program at other extents takes as much memory
			v.computed(load)
			report.looksAt(Computed)
		}
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// verification checks an unrolled program.
type verification struct {
	p      *unroll.Program
	report *Report
	layout string
	nodes  []int
}

// steps are the checks with what makes them.
var steps = []struct {
	check Check
	run   func(*verification)
}{
	{Memory, (*verification).memory},
	{Operands, (*verification).operands},
	{Alignment, (*verification).aligned},
	{Capture, (*verification).capture},
	{Records, (*verification).records},
	{FlagPairs, (*verification).flags},
	{NcclPairs, (*verification).collectives},
	{Deadlock, (*verification).deadlock},
	{Spinning, (*verification).spinning},
	{Lives, (*verification).lives},
	{RaceFreedom, (*verification).races},
	{Turns, (*verification).turns},
}

// run makes one check after the other. What names things that are not there leaves nothing to look at.
func (v *verification) run() {
	for _, step := range steps {
		before := len(v.report.Findings)
		step.run(v)
		v.report.looksAt(step.check)
		if step.check == Memory && len(v.report.Findings) > before {
			v.add(Finding{Check: Memory, Severity: Undecided, Message: "the other checks are not made, since not all operations can be issued as they stand"})
			return
		}
	}
}

func (v *verification) add(f Finding) {
	f.Layout = v.layout
	v.report.Findings = append(v.report.Findings, f)
}

// layout is how ranks are spread over nodes.
type layout struct {
	name  string
	nodes []int
}

// layouts lists those that a program is looked at on. One that asks where ranks are runs on all: on one node, on
// two, and each rank on its own.
func layouts(p *calls.Program) []layout {
	if !calls.AsksForNodes(p.Body) {
		return []layout{{}}
	}
	ranks := len(p.Ranks())
	halves, apart := make([]int, ranks), make([]int, ranks)
	for r := range ranks {
		halves[r], apart[r] = 2*r/ranks, r
	}
	return []layout{{"all ranks on one node", nil}, {"half of the ranks on each of two nodes", halves}, {"each rank on a node of its own", apart}}
}
