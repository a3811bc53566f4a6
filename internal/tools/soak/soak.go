package soak

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// Options configure a search.
type Options struct {
	Seed     uint64
	From     uint64 // the number of the first spec
	Seconds  int
	Specs    uint64  // only specs with numbers below this; 0: as many as there is time for
	Only     *uint64 // if set, only the spec of this number
	Whole    bool    // findings are not made small
	Findings int     // stop after this many distinct findings; 0 means 1
	Examples []Example
	Yard     *Yard  // builds and runs programs; nil: do not build
	Every    uint64 // build accepted specs whose number is a multiple of this
	Builds   int    // most specs that are built; 0: as many as there is time for
	Repeat   string // format of a command that repeats a spec; %d is the number of the spec
	Log      io.Writer
}

// Make makes the spec of a number. About every third spec is a changed example, and one of every everyLegal specs must
// be accepted.
func (o *Options) Make(number uint64) Spec {
	if number%everyLegal == everyLegal-2 {
		return MakeLegal(o.Seed, number)
	}
	if number%3 == 0 && len(o.Examples) > 0 {
		if spec, ok := Vary(o.Examples, o.Seed, number); ok {
			return spec
		}
	}
	return MakeUp(o.Seed, number)
}

// search is the state of a run.
type search struct {
	Options
	deadline time.Time
	mutex    sync.Mutex
	next     uint64
	counts   *Counts
	found    map[string]*Finding // findings by their Shape
	build    chan accepted
	packed   int // number of specs that were put into packs, built or not yet
}

// accepted is a spec that is to be built.
type accepted struct {
	number  uint64
	spec    Spec
	outcome Outcome
}

// coresOfBuilder is the number of cores that produce accepted specs as fast as one builder builds them.
const coresOfBuilder = 8

// Run searches until the time is over, all specs are done or there are enough findings. It reduces each distinct
// finding, unless Whole is set, and prints it with the command that repeats it.
func Run(o Options) (*Counts, []*Finding) {
	s := &search{Options: o, next: o.From, counts: newCounts(), found: map[string]*Finding{}, build: make(chan accepted, 64)}
	s.deadline = time.Now().Add(time.Duration(o.Seconds) * time.Second)
	if o.Only != nil {
		s.next, s.Specs, s.Every = *o.Only, *o.Only+1, 1
	}
	var workers, builders sync.WaitGroup
	for i := range max(1, runtime.NumCPU()/coresOfBuilder) {
		builders.Go(func() { s.builds(s.Yard.builder(i)) })
	}
	for range runtime.NumCPU() {
		workers.Go(s.examines)
	}
	workers.Wait()
	close(s.build)
	builders.Wait()
	var found []*Finding
	for _, f := range s.found {
		found = append(found, f)
	}
	return s.counts, found
}

// take returns the number of the next spec, or false if the search has ended.
func (s *search) take() (uint64, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over() || s.Specs > 0 && s.next >= s.Specs {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// over reports whether the search ends. The caller holds the mutex.
func (s *search) over() bool {
	return time.Now().After(s.deadline) && s.Only == nil || len(s.found) >= max(1, s.Findings)
}

func (s *search) examines() {
	for number, ok := s.take(); ok; number, ok = s.take() {
		spec := s.Make(number)
		outcome := Examine(spec)
		s.mutex.Lock()
		s.counts.add(spec, outcome)
		s.mutex.Unlock()
		switch {
		case outcome.Finding != nil:
			outcome.Finding.Number = number
			s.report(outcome.Finding, func(other Spec) *Finding { return Examine(other).Finding }, time.Minute)
		case s.Yard != nil && outcome.Program != nil && number%max(1, s.Every) == 0:
			select {
			case s.build <- accepted{number, spec, outcome}:
			default: // drop it: enough specs wait to be built
			}
		}
	}
}

// builds builds and runs accepted specs in the folders of y, with up to packSize specs in one program.
func (s *search) builds(y *Yard) {
	var pack []accepted
	flush := func() {
		if len(pack) > 0 {
			s.pack(y, pack)
		}
		pack = nil
	}
	for one := range s.build {
		if s.mutex.Lock(); s.over() || s.Builds > 0 && s.packed >= s.Builds {
			s.mutex.Unlock()
			continue // drain the channel
		}
		s.packed++
		s.mutex.Unlock()
		if pack = append(pack, one); len(pack) == packSize {
			flush()
		}
	}
	s.mutex.Lock()
	over := len(s.found) >= max(1, s.Findings)
	s.mutex.Unlock()
	if !over {
		flush()
	}
}

func (s *search) pack(y *Yard, pack []accepted) {
	findings := y.Try(pack)
	s.mutex.Lock()
	for _, one := range pack {
		s.counts.built(one.outcome.Program)
	}
	s.mutex.Unlock()
	for _, f := range findings {
		s.report(f, y.Alone, 4*time.Minute)
	}
}

// report reduces a finding and prints it, unless it resembles a known one.
func (s *search) report(f *Finding, examine func(Spec) *Finding, limit time.Duration) {
	s.mutex.Lock()
	shape := f.Shape()
	_, known := s.found[shape]
	if !known {
		s.found[shape] = f
	}
	s.mutex.Unlock()
	if known {
		return
	}
	small := f
	if !s.Whole {
		small = Shrink(f, examine, limit)
	}
	small.Number = f.Number
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.found[shape] = small
	if again := small.Shape(); again != shape {
		if _, known := s.found[again]; known {
			return
		}
	}
	fmt.Fprintf(s.Log, "\nFOUND %s\n\n%s\n%s\nrepeat: "+s.Repeat+"\n", small.Kind, small.Spec.Text(), small.Detail, small.Number)
}
