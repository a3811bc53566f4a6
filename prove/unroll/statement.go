package unroll

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/model/domain"
)

// statement issues a statement outside of batches, groups and PeerSums. A PeerPart is a fault, since only a PeerSum may have it.
func (i *issuing) statement(s calls.Stmt) {
	switch s := s.(type) {
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
		i.work(s, Copy, s.On, 0)
	case *calls.Gemm:
		i.work(s, Gemm, s.On, 0)
	case *calls.Attend:
		i.work(s, Attend, s.On, 0)
	case *calls.Launch:
		i.work(s, Launch, s.On, 0)
	case *calls.Delay:
		if on, ok := i.On(s, s.On); ok {
			i.end(i.begin(s, Delay, on))
		}
	default:
		i.misplaced(s)
	}
}

func (i *issuing) record(s *calls.EventRecord) {
	event, on, ok := i.Event(s, s.Event, s.On)
	if !ok {
		return
	}
	o := i.begin(s, Record, on)
	o.Arg = event
	i.last[event] = int32(len(i.rank.Ops) - 1)
	i.end(o)
}

func (i *issuing) wait(s *calls.StreamWait) {
	event, on, ok := i.Event(s, s.Event, s.On)
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

// touch adds an access to contiguous elements of a type to the current operation. It returns the number of the access; -1
// if there is none.
func (i *issuing) touch(s calls.Stmt, operand int16, write bool, at issue.Place, t domain.DType, elements int64) int32 {
	if !i.there(s, operand, at, t) {
		return -1
	}
	return i.place(s, operand, write, at, i.layout(t.Size(), []int64{elements}, []int64{1}))
}

// there reports whether a place is in a memory that its rank has. If it is not, or if the elements have another type, it records a
// fault.
func (i *issuing) there(s calls.Stmt, operand int16, at issue.Place, t domain.DType) bool {
	if at.Memory < 0 {
		i.fault(s, issue.NoMemory, "operand %d is not there", operand)
		return false
	}
	m := &i.Memories[at.Memory]
	if !i.out.Ranks[at.Owner].Has[at.Memory] {
		i.fault(s, issue.NoMemory, "rank %d has no %s", at.Owner, m.Name)
		return false
	}
	if m.Type != "" && at.Type != t {
		i.fault(s, issue.WrongType, "elements of %s are taken for %s in %s", at.Type, t, m.Name)
	}
	return true
}

// place adds an access with a layout at an existing place, and returns its number; -1 if the layout has no elements. It records a
// fault for bytes outside of the buffer.
func (i *issuing) place(s calls.Stmt, operand int16, write bool, at issue.Place, layout int32) int32 {
	span := i.out.Layouts[layout].Span
	if span == 0 {
		return -1
	}
	number := int32(-1)
	if of := at.Of; of != nil {
		number = of.Number
		if at.Offset < of.First || at.Offset+span > of.End {
			i.fault(s, issue.Bounds, "bytes %d to %d are outside of %s, which has %d", at.Offset-of.First, at.Offset-of.First+span, of.Name,
				of.End-of.First)
		}
	}
	i.rank.Accesses = append(i.rank.Accesses, Access{at.Owner, at.Memory, at.Offset, layout, operand, write, number})
	return int32(len(i.rank.Accesses) - 1)
}

// run adds an access to contiguous elements, and returns its number; -1 if there is none.
func (i *issuing) run(s calls.Stmt, operand int16, write bool, p calls.Pointer, t domain.DType, elements int64) int32 {
	at, ok := i.At(s, p)
	if !ok {
		return -1
	}
	return i.touch(s, operand, write, at, t, elements)
}

// byte adds an access to a workspace or counter of this rank, represented by one byte.
func (i *issuing) byte(operand int16, write bool, memory int32) {
	if i.oneByte < 0 {
		i.oneByte = i.layout(1, []int64{1}, []int64{1})
	}
	i.place(nil, operand, write, issue.Place{Owner: i.Number, Memory: memory}, i.oneByte)
}
