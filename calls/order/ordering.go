// Package order computes, for each statement of a program of calls, which work has ended before the statement runs on
// its stream. From that it derives which waits are needed and which are implied by other waits.
package order

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// Ordering issues a program on one rank after another, and collects the waits that the program needs.
type Ordering struct {
	Program    *calls.Program
	Finish     func(*Ordering)                       // called at the end of the call on each rank; optional
	Unrecorded func(w *calls.StreamWait, rank int64) // called for waits whose event has no record before; optional
	// task, if set, is called for each task with two clocks: behind covers the work before the task, done the task
	// itself.
	task       func(s calls.Stmt, rank int64, behind, done Clock)
	signals    *signals // nil: flags imply no order
	Needed     map[calls.Stmt]bool
	Iterations map[*calls.For]map[int64]bool             // by loop: iterations with a needed wait
	Values     map[calls.Stmt]map[int64]bool             // by wait: values of the innermost loop for which it is needed
	single     map[calls.Stmt]bool                       // records outside of loops and branches, which run once in a call
	Alike      map[*calls.EventRecord]*calls.EventRecord // by record: the first record of single with always the same clock; nil: none

	Rank    int64
	world   *issue.World
	walk    *issue.Rank
	Streams map[string]int
	Clocks  []Clock
	pending map[int][]waiting // waits since the stream's last record or task; a wait for flags is no such task
	events  map[string]Clock
	said    map[string]*calls.EventRecord // records of single, by their clock as text
	unsure  int                           // number of enclosing branches that the host takes or not at run time
	Spread  Spread
	Joined  map[int]Clock      // by stream: the last work that the end of a call has to wait for
	parts   int                // number of statements without a stream issued so far, such as parts of batches
	within  *calls.RowExchange // the last RowExchange with an issued statement
	behind  Clock              // clock of the work before that RowExchange
}

// Spread is the assignment of ranks to nodes, if it is known.
type Spread int

// The spreads.
const (
	unknown   Spread = iota
	OneNode          // all ranks on one node
	ManyNodes        // each rank on a separate node
)

// waiting is a StreamWait that a later wait of its stream may imply.
type waiting struct {
	stmt  calls.Stmt
	loops []issue.Iteration
	clock Clock
}

// New prepares the ordering of a program. RunAll computes it.
func New(p *calls.Program) *Ordering {
	o := &Ordering{
		Program: p, world: issue.New(p, nil),
		Needed: map[calls.Stmt]bool{}, Iterations: map[*calls.For]map[int64]bool{}, Values: map[calls.Stmt]map[int64]bool{},
		single: map[calls.Stmt]bool{}, Alike: map[*calls.EventRecord]*calls.EventRecord{},
	}
	for _, s := range p.Body {
		if _, ok := s.(*calls.EventRecord); ok {
			o.single[s] = true
		}
	}
	return o
}

// RunAll issues the program on one rank of each group of ranks that behave alike (unlike).
func (o *Ordering) RunAll() {
	for _, rank := range unlike(o.Program) {
		o.run(rank)
	}
}

func (o *Ordering) run(rank int64) {
	o.within = nil
	o.Rank, o.walk, o.Joined = rank, o.world.Rank(int32(rank)), map[int]Clock{}
	o.walk.Accesses, o.walk.Left = o.accesses, o.left
	if o.signals != nil {
		o.signals = newSignals()
	}
	o.Streams, o.Clocks, o.pending, o.events, o.said = map[string]int{}, nil, map[int][]waiting{}, map[string]Clock{},
		map[string]*calls.EventRecord{}
	o.Clocks[o.Stream(calls.Stream{Name: calls.Caller})] = slices.Clone(start) // after the caller's earlier work
	o.walk.Run(o.Program.Body, o.statement)
	for s := range o.Clocks {
		o.settle(s)
	}
	if o.Finish != nil {
		o.Finish(o)
	}
}

func (o *Ordering) statement(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.EventRecord:
		on := o.Stream(s.On)
		o.settle(on)
		o.events[o.event(s.Event)] = o.Clocks[on]
		if o.unsure > 0 {
			delete(o.events, o.event(s.Event))
		}
		o.compare(s, o.Clocks[on])
	case *calls.StreamWait:
		o.wait(s)
	case *calls.MemOpBatch:
		parts := o.parts
		o.walk.Run(s.Body, o.statement)
		if o.parts > parts { // an empty batch does nothing
			o.work(s)
		}
	default:
		o.work(s)
	}
}

// work adds a task to each stream of a statement.
func (o *Ordering) work(s calls.Stmt) {
	streams := calls.StreamsOf(s)
	if o.signals != nil {
		o.signals.note(o, s)
	}
	if len(streams) == 0 {
		o.parts++
	}
	for _, on := range streams {
		n := o.Stream(on)
		if !onlyWaits(s) {
			o.settle(n)
		}
		if o.signals != nil {
			o.Clocks[n] = o.signals.before(o.Clocks[n])
		}
		own := make(Clock, n+1)
		own[n] = o.tasks(n) + 1
		behind := o.Clocks[n]
		if o.walk.Within != nil { // the statements of a RowExchange run at the same time
			if o.within == o.walk.Within {
				own[n], behind = o.tasks(n), o.behind
			}
			o.within, o.behind = o.walk.Within, behind
		}
		if o.task != nil {
			o.task(s, o.Rank, behind, own)
		}
		o.Clocks[n] = o.Clocks[n].Merged(own)
		if o.signals != nil {
			o.signals.after(o.Clocks[n])
		}
		if !onlySignals(s) || o.Program.Graph {
			o.Joined[n] = own
		}
	}
}

// onlyWaits reports whether a statement only waits for flags. It does no harm if such a statement starts early. So a
// StreamWait before it is not needed if a later StreamWait of the stream implies it.
func onlyWaits(s calls.Stmt) bool {
	switch s := s.(type) {
	case *calls.FlagWait:
		return true
	case *calls.MemOpBatch:
		return s.Use == "wait"
	}
	return false
}

// onlySignals reports whether a statement only writes flags. A call need not wait for its end, because the peers wait
// for the flags. In a graph the call has to wait, because a graph joins all of its streams.
func onlySignals(s calls.Stmt) bool {
	switch s := s.(type) {
	case *calls.FlagWrite:
		return true
	case *calls.MemOpBatch:
		return s.Use == "write"
	}
	return false
}

// compare sets Alike of a record to an earlier record that runs once in a call and has the same clock. It sets nil if
// there is none, or if not all runs agree.
func (o *Ordering) compare(s *calls.EventRecord, c Clock) {
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
	if known, ok := o.Alike[s]; ok && known != first {
		first = nil
	}
	o.Alike[s] = first
}

// tasks returns the number of tasks issued to a stream.
func (o *Ordering) tasks(stream int) int {
	if c := o.Clocks[stream]; stream < len(c) {
		return c[stream]
	}
	return 0
}

// accesses reports whether the host takes a branch with a PeerAccess, or may take it if the spread is unknown.
func (o *Ordering) accesses(s *calls.If) bool {
	if o.Spread != unknown {
		return (o.Spread == ManyNodes) == s.InterNode
	}
	o.unsure++
	return true
}

func (o *Ordering) left() {
	if o.Spread == unknown {
		o.unsure--
	}
}

// CallersClock returns the clock of the caller's stream.
func (o *Ordering) CallersClock() Clock { return o.Clocks[o.Stream(calls.Stream{Name: calls.Caller})] }

// Stream returns the number of a stream. It numbers the stream on first use.
func (o *Ordering) Stream(s calls.Stream) int {
	name := o.nameOf(s)
	n, ok := o.Streams[name]
	if !ok {
		n = len(o.Clocks)
		o.Streams[name] = n
		o.Clocks = append(o.Clocks, Clock{})
	}
	return n
}

// nameOf returns the one name of a stream that statements may refer to by several names.
func (o *Ordering) nameOf(s calls.Stream) string {
	if n, ok := o.walk.On(nil, s); ok {
		return o.world.Streams[n]
	}
	return s.String()
}

func (o *Ordering) event(e calls.Event) string {
	i, _ := o.walk.Value(nil, e.Index)
	return fmt.Sprint(e.Set, " ", i)
}

// wait orders a stream after an event. The wait is not needed if the stream is already ordered after the event. It is
// needed if the record of the event is unknown.
func (o *Ordering) wait(s *calls.StreamWait) {
	on := o.Stream(s.On)
	recorded, ok := o.events[o.event(s.Event)]
	w := waiting{s, slices.Clone(o.walk.Loops), recorded}
	switch {
	case !ok:
		o.need(w)
		if o.unsure > 0 {
			o.mayBeBehind(on)
		} else if o.Unrecorded != nil {
			o.Unrecorded(s, o.Rank)
		}
	case o.Clocks[on].Covers(recorded):
	case o.unsure > 0:
		o.need(w)
		o.mayBeBehind(on)
	default:
		o.Clocks[on] = o.Clocks[on].Merged(recorded)
		o.pending[on] = append(slices.DeleteFunc(o.pending[on], func(other waiting) bool { return recorded.Covers(other.clock) }), w)
	}
}

// mayBeBehind records that a stream may be ordered after unknown work. It adds a task to the stream for this work, so
// that only later waits for the stream cover it.
func (o *Ordering) mayBeBehind(stream int) {
	own := make(Clock, stream+1)
	own[stream] = o.tasks(stream) + 1
	o.Clocks[stream] = o.Clocks[stream].Merged(own)
}

// settle marks the pending waits of a stream as needed.
func (o *Ordering) settle(stream int) {
	for _, w := range o.pending[stream] {
		o.need(w)
	}
	o.pending[stream] = nil
}

func (o *Ordering) need(w waiting) {
	o.Needed[w.stmt] = true
	if len(w.loops) > 0 {
		if o.Values[w.stmt] == nil {
			o.Values[w.stmt] = map[int64]bool{}
		}
		o.Values[w.stmt][w.loops[len(w.loops)-1].Value] = true
	}
	for _, l := range w.loops {
		if o.Iterations[l.Loop] == nil {
			o.Iterations[l.Loop] = map[int64]bool{}
		}
		o.Iterations[l.Loop][l.Value] = true
	}
}
