package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// withoutImplied leaves out each Synchronize that other waits imply on all ranks, in all iterations: what its
// stream does next follows the same work without it. Where buffers are freed behind loops, their joins stay.
//
//	before: For s: (compute stream s waits for the caller)
//	        For s: Wait(gather); C_s = Matmul(A_all_s, B)      # gather was issued behind all of the caller's work
//	after:  For s: Wait(gather); C_s = Matmul(A_all_s, B)
func (o *overlap) withoutImplied(body []hostir.Stmt) []hostir.Stmt {
	if o.reference || o.program.Choices.Get(schedule.Buffers) == schedule.Free {
		return body
	}
	needed := map[hostir.Stmt]bool{}
	for _, rank := range o.program.Meshes[0].Ranks {
		c := newClocks(o, rank, needed)
		if c.List(body) != nil {
			return body
		}
		c.settle(c.stream(hostir.Caller))
	}
	if !hostir.Any(body, func(s hostir.Stmt) bool { return syncs(s) && !needed[s] }) {
		return body
	}
	return hostir.RewriteBlocks(body, func(list []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(list))
		for _, s := range list {
			if !isEmpty(s) && (!syncs(s) || needed[s]) {
				out = append(out, s)
			}
		}
		return out
	})
}

func syncs(s hostir.Stmt) bool {
	_, is := s.(*hostir.Synchronize)
	return is
}

// clocks runs through the statements of one rank, and knows of each stream how far it follows the others. A
// transfer counts as a stream of its own, which follows the one that it is issued on.
type clocks struct {
	*unroller
	needed  map[hostir.Stmt]bool
	streams map[string]*stream
	current *stream
	started hostir.Started[clock] // what Waits make a stream follow
	groups  bool                  // a group is open
	member  hostir.Stmt           // one of the open group
	count   int                   // transfers that were started
}

// stream is a queue of one rank.
type stream struct {
	number  int
	seen    clock
	pending []pendingWait // since it last did something
	all     clock         // what it follows with these
}

// mostPending bounds the waits that are compared with each other.
const mostPending = 256

// clock is how much of each stream has ended, by number.
type clock []int

// pendingWait is a wait that takes effect with what its stream does next.
type pendingWait struct {
	stmt hostir.Stmt
	seen clock
}

func newClocks(o *overlap, rank int, needed map[hostir.Stmt]bool) *clocks {
	c := &clocks{
		unroller: newUnroller(o.program, o.graph, rank), needed: needed,
		streams: map[string]*stream{}, started: hostir.Started[clock]{},
	}
	c.Visit, c.current = c.statement, c.stream(hostir.Caller)
	c.work(c.current) // of the caller, before
	return c
}

// stream finds a stream by its name.
func (c *clocks) stream(name string) *stream {
	if c.streams[name] == nil {
		c.streams[name] = &stream{number: len(c.streams)}
	}
	return c.streams[name]
}

// upTo makes a clock follow all that another one does.
func (c clock) upTo(other clock) clock {
	for len(c) < len(other) {
		c = append(c, 0)
	}
	for i, n := range other {
		c[i] = max(c[i], n)
	}
	return c
}

// of is how much of a stream has ended.
func (c clock) of(stream int) int {
	if stream < len(c) {
		return c[stream]
	}
	return 0
}

// at is a clock that says how much of one stream has ended.
func (c clock) at(stream, ended int) clock {
	for len(c) <= stream {
		c = append(c, 0)
	}
	c[stream] = ended
	return c
}

// covers reports whether a clock follows all that another one does.
func (c clock) covers(other clock) bool {
	for i, n := range other {
		if n > 0 && (i >= len(c) || c[i] < n) {
			return false
		}
	}
	return true
}

// pend adds a wait to those that take effect with what a stream does next.
func (c *clocks) pend(s *stream, stmt hostir.Stmt, seen clock) {
	if len(s.pending) == mostPending {
		c.settle(s)
	}
	s.pending = append(s.pending, pendingWait{stmt, seen})
	s.all = s.all.upTo(seen)
}

// settle lets the waits of a stream take effect. Each Synchronize that those behind it, those in front of it that
// are needed, and what the stream follows already do not imply is needed.
func (c *clocks) settle(s *stream) {
	if len(s.pending) == 0 {
		return
	}
	behind := make([]clock, len(s.pending)) // what the waits behind each one follow
	for i := len(s.pending) - 2; i >= 0; i-- {
		behind[i] = slices.Clone(behind[i+1]).upTo(s.pending[i+1].seen)
	}
	before := slices.Clone(s.seen)
	for i, p := range s.pending {
		if !syncs(p.stmt) || !slices.Clone(before).upTo(behind[i]).covers(p.seen) {
			c.needed[p.stmt] = true
			before = before.upTo(p.seen)
		}
	}
	s.seen, s.pending, s.all = before, nil, slices.Clone(before)
}

// work puts something on a stream.
func (c *clocks) work(s *stream) {
	c.settle(s)
	s.seen = s.seen.at(s.number, s.seen.of(s.number)+1)
	s.all = s.all.at(s.number, s.seen[s.number])
}
