// Package events says what of an unrolled program happens before what, and whether all of it happens.
//
// An operation begins when its stream gets to it. It ends when, in addition, what it waits for is there: the
// record of its event, the flags, the other parts of an NCCL call. All of these only ever appear, so it does
// not matter in which order operations that can end do: one run, in any order, ends exactly those operations
// that every run ends. What is left then is stuck. The same run carries vector clocks along, which say of each
// operation which others have ended before it in all runs.
//
// What orders operations (the mode Ideal knows nothing else):
//
//   - A stream runs one after the other, also from call to call. In a captured program a call begins, on every
//     stream, behind the whole call before it.
//   - A wait follows the record of its event that the host issued last before it, in the same call.
//   - A wait for a flag follows the write of its sequence number.
//   - NCCL calls end when all their parts have begun. That bounds deadlocks. For the order of accesses less is
//     relied on: who receives follows the beginning of who sends. A send may end before its receive begins.
//   - NCCL calls of one communicator on several streams of a rank run in the order of issue.
package events

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/prove/unroll"
)

// Mode says how concurrent a GPU is taken to be.
type Mode int

// The modes. Each has the orders of Ideal, and more.
const (
	Ideal      Mode = iota // whatever streams allow runs at once
	Serialized             // what moves data between ranks runs one after the other on a GPU, as the host issues it
	OneQueue               // streams share a hardware queue: nothing begins before all that the host issued before has
	Loading                // each kernel is loaded at its launch, for which the host waits until all that it issued before has ended
)

// Point is an operation in a call.
type Point struct {
	Rank, Op, Call int32
	Thread         int32 // of the rank: its stream or lane
	Epoch          int32 // how many operations of the thread have ended with it
}

// Observer is told of the accesses of each operation: behind has all that has ended before them. It is told in
// an order in which each operation comes behind all that it follows.
type Observer interface {
	Accesses(at Point, behind *Clock)
}

// Watcher is told of the end of each operation and, of one that waits in a kernel, what had ended when it began, and
// what had to before it could end; of the parts of an NCCL call, that is that they have begun, which counts as if
// they had ended.
type Watcher interface {
	Ended(at Point, begun, needed *Clock)
}

// Options say how to run.
type Options struct {
	Mode     Mode
	Calls    int
	Known    [][]int32            // of each rank: the ranks that its clocks tell of, in order; nil: itself. Those of fewer ranks know less, and cost less
	Observer Observer             // nil: nobody
	Visit    func(rank, op int32) // is told of the end of each operation, in an order as an Observer is, without clocks; nil: nobody
	Watcher  Watcher              // nil: nobody
}

// All has the clocks of each rank tell of all ranks.
func All(p *unroll.Program) [][]int32 {
	all := make([]int32, len(p.Ranks))
	for r := range all {
		all[r] = int32(r)
	}
	return slices.Repeat([][]int32{all}, len(all))
}

// clocks reports whether anybody looks at them.
func (o *Options) clocks() bool { return o.Observer != nil || o.Watcher != nil }

// Run runs all calls. It returns why not all of it happens; nil if all does. Where ranks can do one operation after the
// other in the order of issue, they do: clocks do not depend on the order.
func Run(p *unroll.Program, o Options) *Deadlock {
	if newMachine(p, Options{Calls: o.Calls}).inSequence() {
		if o.clocks() || o.Visit != nil {
			newMachine(p, o).inSequence()
		}
		return nil
	}
	m := newMachine(p, o)
	for n := range m.ranks {
		m.sort(int32(n))
	}
	for r := range m.ranks {
		for s := range m.ranks[r].streams {
			m.advance(int32(r), int32(s))
		}
	}
	for len(m.work) > 0 {
		next := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		m.ranks[next.rank].streams[next.stream].queued = false
		m.advance(next.rank, next.stream)
	}
	return m.deadlock()
}
