package events

import (
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// machine runs the operations of all ranks.
type machine struct {
	p     *unroll.Program
	o     Options
	ranks []rank
	work  []streamOf
	flags []flag // flags by owner and number
	each  int32  // number of flags per rank
	meets map[meetOf]*meeting
	all   []int32 // all ranks; nil until needed
}

type streamOf struct{ rank, stream int32 }

// rank is the state of a rank.
type rank struct {
	streams []stream
	threads []int32              // operations that have ended, by thread: streams, then lanes
	ended   []int32              // by operation: in how many calls it has ended
	begun   int64                // position in the order of issue, over all calls; only in mode OneQueue and in inSequence
	records map[inCall]*record   // records that later waits need
	begins  []*Clock             // of a captured program, by call: the clock of its CallBegin
	waiting map[int32][]streamOf // by operation: streams that wait for its end
	after   map[int32]int32      // by operation: another operation of the rank that has to end before it begins
	kernels []int32              // in mode Loading, by operation: the last operation, up to itself, that launches a kernel
	loads   []streamOf           // in mode Loading: streams whose next operation is not issued yet
	turns   map[meetOf]int32     // how many meetings of a key have begun
	done    []int                // by call: how many operations have ended
	whole   *Clock               // of a captured program: covers the operations that have ended
}

// stream is the state of a stream.
type stream struct {
	ops     []int32 // operations of a call
	at      int     // the next operation to begin, counted over all calls
	under   []*running
	one     running // the running operation, if it has no lane
	clock   *Clock
	firstOf int32 // the thread of its first lane
	queued  bool
	before  *Clock // the clock with which the running lanes began
}

// inCall is an operation in a call.
type inCall struct{ op, call int32 }

// record is the clock of a recorded event, and the number of waits that still need it; unroll.Many: it is never
// freed.
type record struct {
	clock *Clock
	left  uint16
}

// running is an operation that has begun.
type running struct {
	op, call, thread int32
	clock            *Clock     // the clock when a lane or an NCCL call began; at its end, tell sets the clock of any operation
	meetings         []*meeting // the meetings that it takes part in
}

func newMachine(p *unroll.Program, o Options) *machine {
	m := &machine{p: p, o: o, ranks: make([]rank, len(p.Ranks)), meets: map[meetOf]*meeting{}}
	for i := range p.Shares {
		m.each = max(m.each, p.Shares[i].FirstFlag+2*p.Shares[i].Transfers)
	}
	m.flags = make([]flag, int(m.each)*len(p.Ranks))
	for n := range m.ranks {
		m.prepare(int32(n))
	}
	return m
}

// prepare initializes the state of a rank: its streams, threads and clocks.
func (m *machine) prepare(n int32) {
	r, ops := &m.ranks[n], m.p.Ranks[n].Ops
	*r = rank{streams: make([]stream, len(m.p.Streams)), records: map[inCall]*record{}, turns: map[meetOf]int32{}}
	lanes := make([]int32, len(r.streams))
	for i := range ops {
		if ops[i].Lane > 0 {
			lanes[ops[i].Stream] = max(lanes[ops[i].Stream], int32(ops[i].Lane))
		}
	}
	threads := int32(len(r.streams))
	for i := range r.streams {
		r.streams[i].firstOf = threads
		threads += lanes[i]
		r.streams[i].clock = m.newClock(n)
	}
	r.threads = make([]int32, threads)
	r.whole = m.newClock(n)
}

// sort distributes the operations of a rank to its streams, and initializes the state that advance needs.
func (m *machine) sort(n int32) {
	r, ops := &m.ranks[n], m.p.Ranks[n].Ops
	r.ended, r.waiting, r.done = make([]int32, len(ops)), map[int32][]streamOf{}, make([]int, m.o.Calls)
	for i := range ops {
		s := &r.streams[ops[i].Stream]
		s.ops = append(s.ops, int32(i))
	}
	r.after = m.follows(n)
	if m.o.Mode == Loading {
		r.kernels = lastKernels(ops)
	}
}

// newClock returns an empty clock, or nil if the run needs no clocks.
func (m *machine) newClock(rank int32) *Clock {
	if !m.o.clocks() {
		return nil
	}
	known := []int32{rank}
	if m.o.Known != nil {
		known = m.o.Known[rank]
	}
	return &Clock{known, make([]*part, len(known))}
}

// notify queues a stream for advance.
func (m *machine) notify(at streamOf) {
	if s := &m.ranks[at.rank].streams[at.stream]; !s.queued {
		s.queued = true
		m.work = append(m.work, at)
	}
}

// advance ends and begins as many operations of a stream as possible.
func (m *machine) advance(number, on int32) {
	r := &m.ranks[number]
	s := &r.streams[on]
	for moved := true; moved; {
		moved = false
		for i := 0; i < len(s.under); i++ {
			if m.tryEnd(number, s, s.under[i]) {
				s.under = append(s.under[:i], s.under[i+1:]...)
				i--
				moved = true
			}
		}
		for m.tryBegin(number, s) {
			moved = true
		}
	}
}

// tryBegin begins the next operation of a stream, if it can, and reports whether it did. An operation without a lane
// also ends at once if its conditions hold.
func (m *machine) tryBegin(number int32, s *stream) bool {
	if len(s.ops) == 0 || s.at == m.o.Calls*len(s.ops) {
		return false
	}
	op, call := s.ops[s.at%len(s.ops)], int32(s.at/len(s.ops))
	o := &m.p.Ranks[number].Ops[op]
	if len(s.under) > 0 && o.Lane <= 1 || m.held(number, op, call) {
		return false
	}
	if s.at%len(s.ops) == 0 && !m.launched(number, s, o, call) {
		return false
	}
	run := &s.one
	if o.Lane > 0 {
		run = &running{}
	}
	m.enter(number, s, run, op, call, o)
	if m.o.Mode == OneQueue && waitsInQueue(o) && !m.ready(number, run, o) {
		return false
	}
	if m.o.Mode == OneQueue {
		m.issued(number)
	}
	s.at++
	if o.Kind == unroll.Nccl {
		m.meet(number, s, run, o)
	}
	s.under = append(s.under, run)
	if o.Lane > 0 {
		return true
	}
	if m.tryEnd(number, s, run) {
		s.under = s.under[:len(s.under)-1]
	}
	return true
}

// enter initializes run for an operation that begins.
func (m *machine) enter(number int32, s *stream, run *running, op, call int32, o *unroll.Op) {
	*run = running{op: op, call: call, thread: int32(o.Stream), meetings: run.meetings[:0]}
	if o.Lane == 0 {
		return
	}
	run.thread = s.firstOf + int32(o.Lane) - 1
	if o.Lane == 1 {
		s.before = s.clock.with(number, int32(o.Stream), m.ranks[number].threads[o.Stream])
	}
	run.clock = s.before.copied() // lanes do not follow each other
}

// tryEnd ends a running operation if all its conditions hold, and reports whether it did.
func (m *machine) tryEnd(number int32, s *stream, run *running) bool {
	r := &m.ranks[number]
	o := &m.p.Ranks[number].Ops[run.op]
	if !m.ready(number, run, o) {
		return false
	}
	m.end(number, s, run, o)
	r.ended[run.op]++
	if r.done[run.call]++; m.p.Calls.Graph {
		m.notify(streamOf{number, issue.Caller}) // its stream may wait for the end of the call
	}
	for _, waiter := range r.waiting[run.op] {
		m.notify(waiter)
	}
	delete(r.waiting, run.op)
	for _, waiter := range r.loads {
		m.notify(waiter)
	}
	r.loads = r.loads[:0]
	return true
}

// end ends an operation: it calls the observers and writes the flags.
func (m *machine) end(number int32, s *stream, run *running, o *unroll.Op) {
	r := &m.ranks[number]
	r.threads[run.thread]++
	if m.o.Visit != nil {
		m.o.Visit(number, run.op)
	}
	if m.o.clocks() {
		m.tell(s, run, Point{number, run.op, run.call, run.thread, r.threads[run.thread]}, o)
	}
	for _, signal := range m.p.Ranks[number].SignalsOf(o) {
		if signal.Write {
			m.flag(signal).write(m.sequence(number, signal, run.call), run.clock, m)
		}
	}
}

// ready reports whether all conditions of an operation hold. If not, its stream is queued again when that may have changed.
func (m *machine) ready(number int32, run *running, o *unroll.Op) bool {
	r := &m.ranks[number]
	if o.Kind == unroll.Wait && o.Arg >= 0 && r.ended[o.Arg] <= run.call {
		r.waiting[o.Arg] = append(r.waiting[o.Arg], streamOf{number, int32(o.Stream)})
		return false
	}
	if o.Kind == unroll.CallEnd && m.p.Calls.Graph && r.done[run.call] < len(r.ended)-1 {
		return false // all other operations of the call have to end first
	}
	return m.there(number, run, o)
}

// there reports whether other ranks have written the flags, and begun the parts of NCCL calls, that an operation waits for.
func (m *machine) there(number int32, run *running, o *unroll.Op) bool {
	me := streamOf{number, int32(o.Stream)}
	for _, s := range m.p.Ranks[number].SignalsOf(o) {
		if s.Write {
			continue
		}
		if f := m.flag(s); f.reached(m.sequence(number, s, run.call)) == nil {
			f.waiting = append(f.waiting, me)
			return false
		}
	}
	for _, meeting := range run.meetings {
		if !meeting.complete() {
			meeting.waiting = append(meeting.waiting, me)
			return false
		}
	}
	return true
}
