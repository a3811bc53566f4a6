package recall

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/recall/faults"
	"github.com/hirgen/hirgen/prove/mutate"
)

// Checker returns the error that it finds in a program made from a subject, or nil.
type Checker func(s *Subject, p *calls.Program) error

// Options configure Run and RunFaults.
type Options struct {
	PerKind int    // most mutants of each kind, or programs of each fault, of each subject
	Seed    uint64 // seed that picks the mutants
	Orders  uint64 // number of seeds of the oracle
	Check   Checker
}

// Result is the verdict on a mutant or on a program of a faulty lowering.
type Result struct {
	Subject  string
	Kind     string // a kind of mutate.Kinds, or the title of a fault
	Site     int
	Pos      diag.Pos
	What     string // the mistake
	Effect   Effect
	Why      string // what the oracle found
	Refused  error  // the error of the lowering, which made no program; nil: it made one
	Rejected error  // the error of the checker; nil: it accepts the program
}

// Survives reports whether the checker accepts a program that is wrong.
func (r *Result) Survives() bool { return r.Effect != None && r.Refused == nil && r.Rejected == nil }

// Run makes mutants of subjects and judges each by oracle and checker. The results are in the order of subjects and
// kinds.
func Run(subjects []*Subject, o Options) []*Result {
	j := newJudges(o)
	for _, s := range subjects {
		for _, m := range mutate.Sample(s.Program, o.PerKind, o.Seed) {
			j.judge(s, m.Program, &Result{Subject: s.Name, Kind: m.Kind, Site: m.Site, Pos: m.Pos, What: m.What})
		}
	}
	return j.done()
}

// RunFaults lowers subjects with mistakes in the lowering, and judges the programs by oracle and checker.
func RunFaults(subjects []*Subject, o Options) []*Result {
	j := newJudges(o)
	for _, s := range subjects {
		for _, m := range faults.Sample(s.Pipeline, s.variant, o.PerKind, o.Seed) {
			j.judge(s, m.Program, &Result{Subject: s.Name, Kind: m.Fault.Title(), Site: m.Site, Pos: m.Pos, What: m.What, Refused: m.Refused})
		}
	}
	return j.done()
}

// judges judges several programs concurrently.
type judges struct {
	o       Options
	results []*Result
	workers sync.WaitGroup
	slots   chan struct{}
}

func newJudges(o Options) *judges {
	return &judges{o: o, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

func (j *judges) judge(s *Subject, p *calls.Program, r *Result) {
	j.results = append(j.results, r)
	if r.Refused != nil {
		return
	}
	j.slots <- struct{}{}
	j.workers.Add(1)
	go func() {
		defer func() { <-j.slots; j.workers.Done() }()
		r.Effect, r.Why = s.Judge(p, j.o.Orders)
		r.Rejected = check(j.o.Check, s, p)
	}()
}

func (j *judges) done() []*Result {
	j.workers.Wait()
	return j.results
}

// check runs the checker. A panic of the checker counts as a rejection, and is itself a bug.
func check(c Checker, s *Subject, p *calls.Program) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the checker fails: %v", failure)
		}
	}()
	return c(s, p)
}
