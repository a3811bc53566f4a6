package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/clock"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// withoutImplied removes each Synchronize that is redundant on all ranks and in all iterations: its stream waits
// for the same work without it. It also removes loops and branches that become empty. With joins: body or buffers:
// free it removes nothing.
//
//	before: For s: (compute stream s waits for the caller)
//	        For s: Wait(gather); C_s = Matmul(A_all_s, B)      # gather was issued after all of the caller's work
//
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
	if !hostir.Any(body, func(s hostir.Stmt) bool { return hostir.Is[*hostir.Synchronize](s) && !needed[s] }) {
		return body
	}
	return hostir.RewriteBlocks(body, func(list []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(list))
		for _, s := range list {
			if !isEmpty(s) && (!hostir.Is[*hostir.Synchronize](s) || needed[s]) {
				out = append(out, s)
			}
		}
		return out
	})
}

// clocks runs through the statements of one rank and tracks, for each stream, how much work of the other
// streams it waits for. Each communicator of collectives counts as a separate stream, and so does each handle of
// other transfers. A transfer waits for the stream that issues it.
type clocks struct {
	*unroller
	needed  map[hostir.Stmt]bool // waits that are needed on this rank or an earlier one
	streams map[string]*stream
	current *stream
	started hostir.Started[ended] // the clock that a Wait for the transfer adds to its stream
	groups  bool                  // a group is open
	member  hostir.Stmt           // a member of the open group that this rank takes part in, or nil
	count   int                   // number of transfers and groups started so far
}

// stream is a queue of one rank.
type stream struct {
	number  int           // index in the clocks
	seen    ended         // the work that its next work follows, without the pending waits
	pending []pendingWait // waits since the last work of the stream
	all     ended         // seen, with the pending waits
}

// mostPending limits the pending waits of a stream, because settle compares all of them.
const mostPending = 256

// ended counts, by stream number, how much work of each stream has ended.
type ended = clock.Clock[int]

// pendingWait is a wait that takes effect with the next work of its stream.
type pendingWait struct {
	stmt hostir.Stmt
	seen ended
}

func newClocks(o *overlap, rank int, needed map[hostir.Stmt]bool) *clocks {
	c := &clocks{
		unroller: newUnroller(o.program, o.graph, rank), needed: needed,
		streams: map[string]*stream{}, started: hostir.Started[ended]{},
	}
	c.Visit, c.current = c.statement, c.stream(hostir.Caller)
	c.work(c.current) // the caller's work before the call
	return c
}

// stream returns the stream of a name, and creates it if necessary.
func (c *clocks) stream(name string) *stream {
	if c.streams[name] == nil {
		c.streams[name] = &stream{number: len(c.streams)}
	}
	return c.streams[name]
}

// pend adds a wait that takes effect with the next work of a stream.
func (c *clocks) pend(s *stream, stmt hostir.Stmt, seen ended) {
	if len(s.pending) == mostPending {
		c.settle(s)
	}
	s.pending = append(s.pending, pendingWait{stmt, seen})
	s.all = s.all.UpTo(seen)
}

// settle applies the pending waits of a stream. A Synchronize is redundant if its target's work is covered by the
// work that the stream already waits for, the needed waits before it, and all waits after it, together.
func (c *clocks) settle(s *stream) {
	if len(s.pending) == 0 {
		return
	}
	behind := make([]ended, len(s.pending)) // by index in pending: all work that the later pending waits wait for
	for i := len(s.pending) - 2; i >= 0; i-- {
		behind[i] = behind[i+1].Merged(s.pending[i+1].seen)
	}
	before := slices.Clone(s.seen)
	for i, p := range s.pending {
		if !hostir.Is[*hostir.Synchronize](p.stmt) || !before.Merged(behind[i]).Covers(p.seen) {
			c.needed[p.stmt] = true
			before = before.UpTo(p.seen)
		}
	}
	s.seen, s.pending, s.all = before, nil, slices.Clone(before)
}

// work adds one piece of work to a stream. The pending waits of the stream take effect before it.
func (c *clocks) work(s *stream) {
	c.settle(s)
	s.seen = s.seen.At(s.number, s.seen.Of(s.number)+1)
	s.all = s.all.At(s.number, s.seen[s.number])
}
