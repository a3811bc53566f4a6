package recall

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/recall/faults"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/prove/mutate"
)

// Checker says what is wrong with a program that has the place of a subject's; nil: nothing.
type Checker func(s *Subject, p *calls.Program) error

// Options say what is looked at.
type Options struct {
	PerKind int    // mutants of each kind of each subject
	Seed    uint64 // that picks them
	Orders  uint64 // seeds of the oracle
	Check   Checker
}

// Result is what came of a mutant, or of what a faulty lowering makes.
type Result struct {
	Subject  string
	Kind     string // of mutate.Kinds, or the title of a fault
	Site     int
	Pos      diag.Pos
	What     string // the mistake
	Effect   Effect
	Why      string // what the oracle saw
	Refused  error  // nothing came about: what the lowering itself says; nil: something did
	Rejected error  // what the checker says; nil: it accepts it
}

// Survives reports whether the checker accepts a program that is wrong.
func (r *Result) Survives() bool { return r.Effect != None && r.Refused == nil && r.Rejected == nil }

// Run makes mutants of subjects and asks oracle and checker about each. The order of the results is
// that of subjects and kinds.
func Run(subjects []*Subject, o Options) []*Result {
	j := newJudges(o)
	for _, s := range subjects {
		for _, m := range mutate.Sample(s.Program, o.PerKind, o.Seed) {
			j.judge(s, m.Program, &Result{Subject: s.Name, Kind: m.Kind, Site: m.Site, Pos: m.Pos, What: m.What})
		}
	}
	return j.done()
}

// RunFaults lowers subjects with mistakes in the lowering, and asks oracle and checker about what comes about.
func RunFaults(subjects []*Subject, o Options) []*Result {
	j := newJudges(o)
	for _, s := range subjects {
		for _, m := range faults.Sample(s.Pipeline, s.variant, o.PerKind, o.Seed) {
			j.judge(s, m.Program, &Result{Subject: s.Name, Kind: m.Fault.Title(), Site: m.Site, Pos: m.Pos, What: m.What, Refused: m.Refused})
		}
	}
	return j.done()
}

// judges look at programs, several at a time.
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

// check asks the checker. One that fails on a program has not accepted it, but it is a mistake of its own.
func check(c Checker, s *Subject, p *calls.Program) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the checker fails: %v", failure)
		}
	}()
	return c(s, p)
}
