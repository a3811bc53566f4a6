// Package spinning finds kernels that wait for each other because they occupy SMs.
//
// A kernel that waits for a flag, or for the other ranks of an NCCL call, occupies SMs meanwhile. In the worst case no other
// kernel of its GPU can begin before it ends. That is harmless unless the waiting kernel depends on a kernel that is kept from
// beginning in this way. A kernel of one block that only waits for flags uses a small part of one SM, and blocks nothing.
//
// One waiting kernel blocks a second one if the second needs a kernel on the first one's GPU that may not have begun when the
// first kernel begins. A cycle of kernels that block each other may be stuck. It is stuck on a GPU whose SMs are all
// occupied. If some SMs are left, such a cycle does no harm.
package spinning

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/events"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Most limits how many waiting kernels are compared with each other.
const Most = 3000

// Cycle lists kernels. Each is blocked by the next one, and the last by the first.
type Cycle []events.Point

// Find checks two consecutive calls. ok is false if more than Most kernels wait in them, over all ranks.
func Find(p *unroll.Program) (cycles []Cycle, ok bool) {
	waiting := 0
	for r := range p.Ranks {
		for i := range p.Ranks[r].Ops {
			if p.Ranks[r].Ops[i].Spins {
				waiting++
			}
		}
	}
	if 2*waiting > Most {
		return nil, false
	}
	if waiting == 0 {
		return nil, true
	}
	f := &finder{p: p, kernels: make([][][]int32, len(p.Ranks))}
	events.Run(p, events.Options{Calls: 2, Known: events.All(p), Watcher: f})
	return f.cycles(), true
}

type finder struct {
	p       *unroll.Program
	kernels [][][]int32 // by rank, thread and number of ended operations: how many of these are kernels
	spins   []spin
}

// spin is a kernel that waits.
type spin struct {
	at            events.Point
	begun, needed *events.Clock
}

// Ended counts the kernels of each thread, and collects the kernels that wait.
func (f *finder) Ended(at events.Point, begun, needed *events.Clock) {
	o := &f.p.Ranks[at.Rank].Ops[at.Op]
	threads := &f.kernels[at.Rank]
	for int(at.Thread) >= len(*threads) {
		*threads = append(*threads, []int32{0})
	}
	list := &(*threads)[at.Thread]
	n := (*list)[len(*list)-1]
	if needsSMs(f.p, o) {
		n++
	}
	*list = append(*list, n)
	if needed != nil {
		f.spins = append(f.spins, spin{at, begun, needed})
	}
}

// needsSMs reports whether an operation counts as a kernel.
func needsSMs(p *unroll.Program, o *unroll.Op) bool {
	switch o.Kind {
	case unroll.Gemm, unroll.Attend, unroll.Launch, unroll.Transfer, unroll.PeerSum, unroll.Nccl:
		return true
	case unroll.Copy:
		return o.Lane > 0
	case unroll.Begin:
		return p.Calls.Graph
	case unroll.Flags:
		switch s := p.Stmts[o.Stmt].(type) {
		case *calls.FlagWrite:
			return s.Kernel
		case *calls.FlagWait:
			return s.Kernel
		case *calls.MemOpBatch:
			return s.Kernel
		}
	}
	return false
}

// blocks reports whether the waiting kernel holder blocks the waiting kernel blocked. They may be the same kernel.
func (f *finder) blocks(holder, blocked *spin) bool {
	if f.p.Ranks[holder.at.Rank].Ops[holder.at.Op].Kind == unroll.Flags {
		return false // a kernel of flags has one block, and leaves SMs to others
	}
	if holder != blocked && (holder.ended(blocked.begun) || blocked.ended(holder.begun)) {
		return false // they never run at the same time
	}
	for thread, counts := range f.kernels[holder.at.Rank] {
		from, to := holder.begun.Ended(holder.at.Rank, int32(thread)), blocked.needed.Ended(holder.at.Rank, int32(thread))
		switch lanes := len(f.p.Streams); {
		case int32(thread) == holder.at.Thread:
			from = holder.at.Epoch
		case thread >= lanes && int(holder.at.Thread) >= lanes:
			from++ // the lanes of a batch are one kernel
		}
		if last := int32(len(counts) - 1); to > from && counts[min(to, last)] > counts[min(from, last)] {
			return true
		}
	}
	return false
}

// ended reports whether a clock counts a kernel as ended.
func (s *spin) ended(by *events.Clock) bool { return by.Covers(s.at.Rank, s.at.Thread, s.at.Epoch) }
