// Package events computes the happens-before order of an unrolled program, and whether every operation ends.
//
// An operation begins when its stream gets to it. It ends when everything that it waits for has happened: the record of its
// event, the writes of its flags, the beginning of the other parts of an NCCL call. Such a condition stays true once it is true.
// So the order in which operations end does not matter: one run, in any order, ends exactly the operations that every run ends.
// The operations that it cannot end are stuck. The same run computes vector clocks. The clock of an operation lists the
// operations that end before it in all runs.
//
// These rules order operations (the mode Ideal has only these):
//
//   - A stream runs its operations one after the other, also from call to call. In a captured program a call begins, on every
//     stream, after the whole previous call.
//   - A wait follows the last record of its event that the host issued before it, in the same call.
//   - A wait for a flag follows the first write of at least its sequence number.
//   - NCCL calls end when all their parts have begun. This rule is for deadlocks. For the order of accesses the package assumes
//     less: a receive follows the beginning of its send, and a send may end before its receive begins.
//   - NCCL calls of one communicator on several streams of a rank run in the order of issue. Those of UCC have no such order.
package events

import (
	"slices"

	"github.com/hirgen/hirgen/prove/unroll"
)

// Mode is an assumption about the concurrency of a GPU.
type Mode int

// The modes. Every mode has the order of Ideal, and the others add to it.
const (
	Ideal      Mode = iota // everything that streams allow runs at once
	Serialized             // the communications of a GPU run one after the other, in the order in which the host issued them
	// all streams share a hardware queue: an operation begins after everything that the host issued before has begun, and after
	// earlier waits outside of kernels have ended
	OneQueue
	// each kernel is loaded at its first launch, for which the host waits until everything that it issued before has ended
	Loading
)

// Point is an operation in a call.
type Point struct {
	Rank, Op, Call int32
	Thread         int32 // of the rank: its stream, or its lane, which is one of the concurrent copies of a batch
	Epoch          int32 // how many operations of the thread have ended, including this one
}

// Observer receives the accesses of each operation. behind covers all operations that end before these accesses
// begin. An operation is reported after all operations that it follows.
type Observer interface {
	Accesses(at Point, behind *Clock)
}

// Watcher receives the end of each operation. For an operation that waits in a kernel, begun covers the operations that
// had ended when it began, and needed those that had to end before it could end. Both are nil for other operations. For
// parts of an NCCL call, "ended" means that they have begun.
type Watcher interface {
	Ended(at Point, begun, needed *Clock)
}

// Options configure a run.
type Options struct {
	Mode  Mode
	Calls int
	// by rank: the ranks that its clocks cover, sorted; nil: each rank covers only itself. Clocks of fewer ranks cost
	// less, but miss orders
	Known    [][]int32
	Observer Observer             // optional
	Visit    func(rank, op int32) // called at the end of each operation, in the order that Observer describes; optional, and needs no clocks
	Watcher  Watcher              // optional
}

// All returns the value of Options.Known with which the clocks of each rank cover all ranks.
func All(p *unroll.Program) [][]int32 {
	all := make([]int32, len(p.Ranks))
	for r := range all {
		all[r] = int32(r)
	}
	return slices.Repeat([][]int32{all}, len(all))
}

// clocks reports whether the run needs clocks.
func (o *Options) clocks() bool { return o.Observer != nil || o.Watcher != nil }

// Run runs all calls. It returns nil if all operations end, and otherwise the reason why some do not. If the ranks can run
// their operations one after the other in the order of issue, Run uses that order: clocks do not depend on the order.
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
