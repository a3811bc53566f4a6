package events

import (
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// follows maps operations of a rank to another operation that has to end before they begin, in addition to the order
// of streams. In mode Serialized that is the previous communication, in other modes the previous NCCL call of the
// same communicator. If the other operation is later in the order of issue, its run in the previous call is meant.
func (m *machine) follows(number int32) map[int32]int32 {
	after, last, first := map[int32]int32{}, map[int32]int32{}, map[int32]int32{}
	r := &m.p.Ranks[number]
	follow := func(key, op, end int32) {
		if before, ok := last[key]; ok {
			if m.o.Mode == Serialized || r.Ops[before].Stream != r.Ops[op].Stream {
				after[op] = before
			}
		} else {
			first[key] = op
		}
		last[key] = end
	}
	for i := range r.Ops {
		op, o := int32(i), &r.Ops[i]
		switch {
		case m.o.Mode == Serialized && o.Lane > 1:
			if before, ok := after[op-1]; ok {
				after[op] = before // the lanes of a batch begin together
			}
		case m.o.Mode == Serialized && o.Kind == unroll.Join:
			if moves(number, r, &r.Ops[i-1]) {
				last[0] = op
			}
		case m.o.Mode == Serialized && moves(number, r, o):
			follow(0, op, op)
		case m.o.Mode != Serialized && o.Kind == unroll.Nccl:
			if comm := r.PartsOf(o)[0].Comm; m.p.Comms()[comm].Team.Via == "" {
				follow(comm, op, op)
			}
		}
	}
	for key, op := range first {
		if before := last[key]; before != op && r.Ops[before].Stream != r.Ops[op].Stream {
			after[op] = before
		}
	}
	return after
}

// moves reports whether an operation moves data between ranks.
func moves(number int32, r *unroll.Rank, o *unroll.Op) bool {
	switch o.Kind {
	case unroll.Nccl, unroll.Transfer, unroll.PeerSum:
		return true
	case unroll.Copy:
		for _, a := range r.AccessesOf(o) {
			if a.Owner != number {
				return true
			}
		}
	}
	return false
}

// held reports whether something other than its stream prevents an operation from beginning.
func (m *machine) held(number, op, call int32) bool {
	r := &m.ranks[number]
	me := streamOf{number, int32(m.p.Ranks[number].Ops[op].Stream)}
	if before, ok := r.after[op]; ok && !m.hasEnded(number, before, callOf(before, op, call)) {
		r.waiting[before] = append(r.waiting[before], me)
		return true
	}
	if r.loading(op, call) {
		r.loads = append(r.loads, me)
		return true
	}
	return m.o.Mode == OneQueue && r.begun != int64(call)*int64(len(r.ended))+int64(op)
}

// loading reports whether the host has not issued an operation yet because it still has to load the kernel of this
// operation or of an earlier one. All operations before that kernel have to end first. Until then no later operation
// has begun, so it is enough to count the ended operations.
func (r *rank) loading(op, call int32) bool {
	return int(op) < len(r.kernels) && r.kernels[op] >= 0 && r.done[call] < int(r.kernels[op])
}

// lastKernels returns, for each operation, the last operation up to itself that launches a kernel; -1: none. Kernels
// of NCCL do not count, because NCCL loads them when it makes a communicator.
func lastKernels(ops []unroll.Op) []int32 {
	last, kernel := make([]int32, len(ops)), int32(-1)
	for i := range ops {
		if launches(&ops[i]) {
			kernel = int32(i)
		}
		last[i] = kernel
	}
	return last
}

// launches reports whether an operation launches a kernel. It leaves out kernels of NCCL and kernels that only write flags or
// count calls. Of the copies of a batch only the first one launches a kernel.
func launches(o *unroll.Op) bool {
	switch o.Kind {
	case unroll.Transfer, unroll.PeerSum, unroll.Gemm, unroll.Attend, unroll.Launch:
		return o.Lane <= 1
	case unroll.Copy:
		return o.Lane == 1
	case unroll.Flags:
		return o.Spins
	}
	return false
}

// callOf returns in which call the operation before has to end before op can begin in the given call (see follows).
func callOf(before, op, call int32) int32 {
	if before >= op {
		return call - 1
	}
	return call
}

func (m *machine) hasEnded(number, op, call int32) bool { return m.ranks[number].ended[op] > call }

// issued lets the next operation in the order of issue begin, in mode OneQueue.
func (m *machine) issued(number int32) {
	r, ops := &m.ranks[number], m.p.Ranks[number].Ops
	r.begun++
	m.notify(streamOf{number, int32(ops[r.begun%int64(len(ops))].Stream)})
}

// waitsInQueue reports whether an operation has to end its wait before later operations in a hardware queue may begin. A kernel
// that waits has begun, so it does not hold up the queue.
func waitsInQueue(o *unroll.Op) bool {
	return o.Kind == unroll.Wait || o.Kind == unroll.Flags && !o.Spins
}

// launched reports whether a stream may begin a call. In a captured program, a stream other than the caller's has to
// wait for the CallBegin of the caller's stream, which follows the whole previous call. launched then merges the
// clock of the CallBegin.
func (m *machine) launched(number int32, s *stream, o *unroll.Op, call int32) bool {
	if !m.p.Calls.Graph || o.Stream == issue.Caller {
		return true
	}
	r := &m.ranks[number]
	const begin = 0 // CallBegin
	if r.ended[begin] <= call {
		r.waiting[begin] = append(r.waiting[begin], streamOf{number, int32(o.Stream)})
		return false
	}
	if s.clock != nil {
		s.clock.merge(r.begins[call])
	}
	return true
}
