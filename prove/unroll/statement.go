package unroll

import (
	"github.com/hirgen/hirgen/calls"
)

// statement issues a statement that only loops and branches may contain.
func (i *issue) statement(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.DeclareStream:
		if n, ok := i.on(s, calls.Stream{Name: calls.Copies, Index: s.Index}); ok {
			i.alias[s.Name] = n
		}
	case *calls.BeginCall:
		i.beginCall(s)
	case *calls.EventRecord:
		i.record(s)
	case *calls.StreamWait:
		i.wait(s)
	case *calls.FlagWrite, *calls.FlagWait, *calls.MemOpBatch, *calls.Transfer, *calls.PeerSum:
		i.shared(s)
	case *calls.NcclCall, *calls.NcclGroup:
		i.nccl(s)
	case *calls.Memcpy:
		i.work(s, Copy, s.On)
	case *calls.Gemm:
		i.work(s, Gemm, s.On)
	case *calls.Attend:
		i.work(s, Attend, s.On)
	case *calls.Launch:
		i.work(s, Launch, s.On)
	case *calls.Delay:
		if on, ok := i.on(s, s.On); ok {
			i.end(i.begin(s, Delay, on))
		}
	default:
		i.fault(s, Misplaced, "it is no part of what it stands in")
	}
}

// event returns the number of an event, and the stream that records it or waits for it.
func (i *issue) event(s calls.Stmt, e calls.Event, on calls.Stream) (event int32, stream int16, ok bool) {
	set, known := i.events[e.Set]
	if !known {
		i.fault(s, BadName, "no events are called %s", e.Set)
		return 0, 0, false
	}
	n, ok := i.value(s, e.Index)
	if !ok {
		return 0, 0, false
	}
	if n < 0 || n >= int64(set.count) {
		i.fault(s, BadValue, "there is no event %d among %d of %s", n, set.count, e.Set)
		return 0, 0, false
	}
	stream, ok = i.on(s, on)
	return set.first + int32(n), stream, ok
}

func (i *issue) record(s *calls.EventRecord) {
	event, on, ok := i.event(s, s.Event, s.On)
	if !ok {
		return
	}
	o := i.begin(s, Record, on)
	o.Arg = event
	i.last[event] = int32(len(i.rank.Ops) - 1)
	i.end(o)
}

func (i *issue) wait(s *calls.StreamWait) {
	event, on, ok := i.event(s, s.Event, s.On)
	if !ok {
		return
	}
	o := i.begin(s, Wait, on)
	if at := i.last[event]; at >= 0 {
		o.Arg = at
		if recorded := &i.rank.Ops[at]; recorded.Waits < Many {
			recorded.Waits++
		}
	}
	i.end(o)
}

// touch adds a memory access to the current operation, with strides in elements of the given size. It returns the number of the
// access; -1 if there is none.
func (i *issue) touch(s calls.Stmt, operand int16, write bool, at place, size int64, extents, strides []int64) int32 {
	if !i.there(s, operand, at, size) {
		return -1
	}
	return i.place(s, operand, write, at, i.layout(size, extents, strides))
}

// there reports whether a place is in a memory with elements of the given size.
func (i *issue) there(s calls.Stmt, operand int16, at place, size int64) bool {
	if at.memory < 0 {
		i.fault(s, NoMemory, "operand %d is not there", operand)
		return false
	}
	m := &i.out.Memories[at.memory]
	if !i.out.Ranks[at.owner].Has[at.memory] {
		i.fault(s, NoMemory, "rank %d has no %s", at.owner, m.Name)
		return false
	}
	if m.Type != "" && at.size != size {
		i.fault(s, WrongType, "elements of %d bytes are taken for %d bytes each in %s", at.size, size, m.Name)
	}
	return true
}

// place adds an access with a layout at an existing place.
func (i *issue) place(s calls.Stmt, operand int16, write bool, at place, layout int32) int32 {
	span := i.out.Layouts[layout].Span
	if span == 0 {
		return -1
	}
	if of := at.of; of != nil && (at.offset < of.first || at.offset+span > of.end) {
		i.fault(s, Bounds, "bytes %d to %d are outside of %s, which has %d", at.offset-of.first, at.offset-of.first+span, i.out.Names[of.number],
			of.end-of.first)
	} else if m := &i.out.Memories[at.memory]; m.Bytes > 0 && (at.offset < 0 || at.offset+span > m.Bytes) {
		i.fault(s, Bounds, "bytes %d to %d are outside of %s, which has %d", at.offset, at.offset+span, m.Name, m.Bytes)
	}
	number := int32(-1)
	if at.of != nil {
		number = at.of.number
	}
	i.rank.Accesses = append(i.rank.Accesses, Access{at.owner, at.memory, at.offset, layout, operand, write, number})
	return int32(len(i.rank.Accesses) - 1)
}

// run adds an access to contiguous elements.
func (i *issue) run(s calls.Stmt, operand int16, write bool, p calls.Pointer, size, elements int64) int32 {
	at, ok := i.at(s, p)
	if !ok {
		return -1
	}
	return i.touch(s, operand, write, at, size, []int64{elements}, []int64{1})
}

// workspace adds an access to the workspace of the current statement.
func (i *issue) workspace(s calls.Stmt, operand int16) {
	memory := i.workspaces
	if e, _ := calls.WorkspaceOf(s); e != nil {
		index, _ := i.value(s, e)
		if index < 0 || index >= int64(i.program.Streams) {
			i.fault(s, BadValue, "there is no workspace %d", index)
			return
		}
		memory += 1 + int32(index)
	}
	i.byte(operand, true, memory)
}

// byte adds an access to a workspace or counter of this rank, represented by one byte.
func (i *issue) byte(operand int16, write bool, memory int32) {
	if i.oneByte < 0 {
		i.oneByte = i.layout(1, []int64{1}, []int64{1})
	}
	i.place(nil, operand, write, place{i.number, memory, 0, 1, nil}, i.oneByte)
}
