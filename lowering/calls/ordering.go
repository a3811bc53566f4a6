package calls

import (
	"fmt"
	"slices"
)

// ordering issues a program on one rank after the other, and notes which waits it needs.
type ordering struct {
	program    *Program
	finish     func(*ordering) // at the end of a call; nil: nothing
	verifier   *verifier       // is told of mistakes; nil: there is none
	needed     map[Stmt]bool
	iterations map[*For]map[int64]bool       // in which a loop holds a wait that is needed
	values     map[Stmt]map[int64]bool       // of the innermost loop, in which a wait is needed
	single     map[Stmt]bool                 // records that run once in a call
	alike      map[*EventRecord]*EventRecord // the first record that says the same, always; nil: there is none

	rank    int64
	env     Values
	loops   []iterationOf
	streams map[string]int
	alias   map[string]string // names that statements gave to streams
	clocks  []clock
	pending map[int][]waiting // waits of a stream since its last task or record
	events  map[string]clock
	said    map[string]*EventRecord // single records, by their clock
	unsure  int                     // conditions around that the host decides when it runs
	spread  spread
	joined  map[int]clock // of each stream, what a call has to wait for
	parts   int           // of batches so far
}

// spread is how ranks are spread over nodes, as far as that is known.
type spread int

const (
	unknown   spread = iota
	oneNode          // all on one
	manyNodes        // each on its own
)

// iterationOf is a loop at an iteration.
type iterationOf struct {
	loop  *For
	value int64
}

// waiting is a wait that the next one may imply.
type waiting struct {
	stmt  Stmt
	loops []iterationOf
	clock clock
}

func newOrdering(p *Program) *ordering {
	o := &ordering{
		program: p, needed: map[Stmt]bool{}, iterations: map[*For]map[int64]bool{}, values: map[Stmt]map[int64]bool{},
		single: map[Stmt]bool{}, alike: map[*EventRecord]*EventRecord{},
	}
	for _, s := range p.Body {
		if _, ok := s.(*EventRecord); ok {
			o.single[s] = true
		}
	}
	return o
}

// runAll issues the program on all ranks that may differ.
func (o *ordering) runAll() {
	for _, rank := range o.program.unlike() {
		o.run(rank)
	}
}

func (o *ordering) run(rank int64) {
	o.rank, o.env = rank, o.program.Values()
	o.env["rank"] = rank
	o.alias, o.joined = map[string]string{}, map[int]clock{}
	o.streams, o.clocks, o.pending, o.events, o.said = map[string]int{}, nil, map[int][]waiting{}, map[string]clock{}, map[string]*EventRecord{}
	o.clocks[o.stream(Stream{Name: Caller})] = clock{1} // what the caller did before
	o.list(o.program.Body)
	for s := range o.clocks {
		o.settle(s)
	}
	if o.finish != nil {
		o.finish(o)
	}
}

func (o *ordering) list(body []Stmt) {
	for _, s := range body {
		o.statement(s)
	}
}

func (o *ordering) statement(s Stmt) {
	switch s := s.(type) {
	case *For:
		count, _ := o.env.Eval(s.Count)
		for i := s.First; i < count; i++ {
			o.env[s.Var] = i
			o.loops = append(o.loops, iterationOf{s, i})
			o.list(s.Body)
			o.loops = o.loops[:len(o.loops)-1]
		}
	case *If:
		o.branch(s)
	case *Let:
		if v, ok := o.program.Number(s, o.env, o.rank); ok {
			o.env[s.Name] = v
		}
	case *DeclareStream:
		if s.Index != nil {
			o.alias[s.Name] = o.nameOf(Stream{Index: s.Index})
		}
	case *EventRecord:
		on := o.stream(s.On)
		o.settle(on)
		o.events[o.event(s.Event)] = o.clocks[on]
		if o.unsure > 0 {
			delete(o.events, o.event(s.Event))
		}
		o.compare(s, o.clocks[on])
	case *StreamWait:
		o.wait(s)
	case *MemOpBatch:
		parts := o.parts
		o.list(s.Body)
		if o.parts > parts { // an empty one does nothing
			o.work(s)
		}
	default:
		o.work(s)
	}
}

// work gives the streams of a statement a task.
func (o *ordering) work(s Stmt) {
	streams := streamsOf(s)
	if len(streams) == 0 {
		o.parts++
	}
	for _, on := range streams {
		n := o.stream(on)
		o.settle(n)
		own := make(clock, n+1)
		own[n] = o.tasks(n) + 1
		o.clocks[n] = o.clocks[n].merged(own)
		if !onlySignals(s) || o.program.Graph {
			o.joined[n] = own
		}
	}
}

// onlySignals reports whether a statement only tells peers something: who waits for it is there, and a
// call need not end behind it, except in a graph, which has to join all of its streams.
func onlySignals(s Stmt) bool {
	switch s := s.(type) {
	case *FlagWrite:
		return true
	case *MemOpBatch:
		return s.Use == "write"
	}
	return false
}

// compare notes which record that runs once said the same before.
func (o *ordering) compare(s *EventRecord, c clock) {
	for len(c) > 0 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	key := fmt.Sprint(c)
	first := o.said[key]
	if first == nil && o.single[s] {
		o.said[key] = s
	}
	if o.unsure > 0 {
		first = nil
	}
	if known, ok := o.alike[s]; ok && known != first {
		first = nil
	}
	o.alike[s] = first
}

// tasks counts those of a stream.
func (o *ordering) tasks(stream int) int {
	if c := o.clocks[stream]; stream < len(c) {
		return c[stream]
	}
	return 0
}

func (o *ordering) branch(s *If) {
	if s.Reach != nil && o.spread != unknown {
		if (o.spread == manyNodes) == s.Apart {
			o.list(s.Body)
		}
		return
	}
	if s.Reach != nil {
		o.unsure++
		o.list(s.Body)
		o.unsure--
		return
	}
	holds := s.Guard == "" || o.program.Holds(s.Guard, o.rank)
	if s.Cond != nil {
		v, _ := o.env.Eval(s.Cond)
		holds = holds && v != 0
	}
	if holds {
		o.list(s.Body)
	} else {
		o.list(s.Else)
	}
}

// stream numbers a stream.
func (o *ordering) stream(s Stream) int {
	name := o.nameOf(s)
	n, ok := o.streams[name]
	if !ok {
		n = len(o.clocks)
		o.streams[name] = n
		o.clocks = append(o.clocks, clock{})
	}
	return n
}

// nameOf tells streams apart, whatever statements call them.
func (o *ordering) nameOf(s Stream) string {
	if s.Index != nil {
		i, _ := o.env.Eval(s.Index)
		return fmt.Sprintf("compute[%d]", i)
	}
	if name, ok := o.alias[s.Name]; ok {
		return name
	}
	return s.Name
}

func (o *ordering) event(e Event) string {
	i, _ := o.env.Eval(e.Index)
	return fmt.Sprint(e.Set, " ", i)
}

// wait notes whether the stream is behind the event already.
func (o *ordering) wait(s *StreamWait) {
	on := o.stream(s.On)
	recorded, ok := o.events[o.event(s.Event)]
	w := waiting{s, slices.Clone(o.loops), recorded}
	switch {
	case !ok:
		o.need(w)
		if o.verifier != nil && o.unsure == 0 {
			o.verifier.fail(s, "the event was not recorded before in this call, on rank %d", o.rank)
		}
	case o.clocks[on].covers(recorded):
	case o.unsure > 0:
		o.need(w)
	default:
		o.clocks[on] = o.clocks[on].merged(recorded)
		o.pending[on] = append(slices.DeleteFunc(o.pending[on], func(other waiting) bool { return recorded.covers(other.clock) }), w)
	}
}

// settle says that the waits of a stream so far are needed.
func (o *ordering) settle(stream int) {
	for _, w := range o.pending[stream] {
		o.need(w)
	}
	o.pending[stream] = nil
}

func (o *ordering) need(w waiting) {
	o.needed[w.stmt] = true
	if len(w.loops) > 0 {
		if o.values[w.stmt] == nil {
			o.values[w.stmt] = map[int64]bool{}
		}
		o.values[w.stmt][w.loops[len(w.loops)-1].value] = true
	}
	for _, l := range w.loops {
		if o.iterations[l.loop] == nil {
			o.iterations[l.loop] = map[int64]bool{}
		}
		o.iterations[l.loop][l.value] = true
	}
}
