package faults

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/passes"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// Fault is a mistake in a pass of lowering.Passes (on host programs) or of the calls' passes.Passes.
type Fault struct {
	Name string // "lost-edge"
	Pass string // name of a pass in lowering.Passes or the calls' passes.Passes
	Doc  string
	// One of the two is set. host runs the pass and makes the mistake; calls makes it after the pass.
	host  func(e *editor, p *hostir.Program, run func(*hostir.Program) error) error
	calls func(e *editor, p *calls.Program)
}

// Title returns the name of the pass and the fault.
func (f *Fault) Title() string { return f.Pass + ": " + f.Name }

// Made is the result of a faulty lowering.
type Made struct {
	Fault   *Fault
	Site    int
	Pos     diag.Pos
	What    string         // the mistake, in a line
	Program *calls.Program // nil: the lowering refused it
	Refused error          // the error of the lowering
}

// An editor counts the sites where a pass could make a mistake, and makes it at one of them.
type editor struct {
	site, met int // site: number of the site of the mistake, -1: none; met: sites counted so far
	pos       diag.Pos
	what      string
}

// here counts a site and reports whether to make the mistake there.
func (e *editor) here(pos diag.Pos, format string, args ...any) bool {
	e.met++
	if e.met-1 != e.site {
		return false
	}
	e.pos, e.what = pos, fmt.Sprintf(format, args...)
	return true
}

// Sample lowers a pipeline with each fault of All at up to perFault sites, which the seed picks. Each lowering has one
// mistake. Variant 1 is the fallback variant.
func Sample(p *model.Pipeline, variant, perFault int, seed uint64) []*Made {
	var list []*Made
	for i := range All {
		f := &All[i]
		none := &editor{site: -1}
		if _, err := f.lower(p, variant, none); err != nil {
			panic(fmt.Sprintf("faults: %s: without a mistake: %v", f.Title(), err))
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.Name + f.Title()))       // a hash never returns an error
		random := rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // no secret depends on it
		sites := random.Perm(none.met)
		for _, site := range sites[:min(perFault, len(sites))] {
			e := &editor{site: site}
			program, err := f.lower(p, variant, e)
			list = append(list, &Made{f, site, e.pos, e.what, program, err})
		}
	}
	return list
}

// lower lowers a pipeline to calls with one mistake, at the editor's site, or without a mistake if that is -1.
func (f *Fault) lower(p *model.Pipeline, variant int, e *editor) (program *calls.Program, err error) {
	defer func() {
		if failure := recover(); failure != nil { // a pass met a program that no correct pass produces
			err = fmt.Errorf("%v", failure)
		}
	}()
	host, err := lowering.Build(p)
	if err != nil {
		return nil, err
	}
	if err := lowering.Run(host, f.table(host, variant, e), lowering.Options{}); err != nil {
		return nil, err
	}
	return f.toCalls(host.Variants()[variant], e)
}

// table returns lowering.Passes. If the fault is in one of these passes, that pass makes the mistake in the given variant.
func (f *Fault) table(host *hostir.Program, variant int, e *editor) []lowering.Pass {
	table := slices.Clone(lowering.Passes)
	for i := range table {
		if run := table[i].Run; f.host != nil && table[i].Name == f.Pass {
			table[i].Run = func(p *hostir.Program) error {
				if forms := host.Variants(); len(forms) > 1 && slices.Index(forms, p) != variant {
					return run(p)
				}
				return f.host(e, p, run)
			}
		}
	}
	return table
}

var callPasses sync.Mutex // held while passes.Passes has a broken pass

// toCalls lowers a host program to calls. If the fault is in a pass on calls, it breaks that pass.
func (f *Fault) toCalls(host *hostir.Program, e *editor) (*calls.Program, error) {
	callPasses.Lock()
	defer callPasses.Unlock()
	right := passes.Passes
	defer func() { passes.Passes = right }()
	passes.Passes = slices.Clone(right)
	for i := range right {
		if f.calls != nil && right[i].Name == f.Pass {
			passes.Passes[i].Run = func(p *calls.Program) {
				right[i].Run(p)
				f.calls(e, p)
			}
		}
	}
	lowered, err := lowering.Calls(host, lowering.Options{})
	if err != nil {
		return nil, err
	}
	return lowered.Program, nil
}
