package unroll

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// issuing is the state of one rank while it issues a call.
type issuing struct {
	*unroller
	*issue.Rank
	rank *Rank
	last []int32 // by event: the operation that recorded it last; -1: none
}

// rank unrolls one call on a rank into its operations.
func (u *unroller) rank(number int32) {
	i := &issuing{
		unroller: u, Rank: u.world.Rank(number), rank: &u.out.Ranks[number], last: slices.Repeat([]int32{-1}, int(u.world.Events)),
	}
	i.Fault = i.fault
	if number > 0 {
		i.reserve(&u.out.Ranks[number-1])
	}
	i.arguments(CallBegin)
	i.Run(u.world.Calls.Body, i.statement)
	i.arguments(CallEnd)
	i.rank.Begun = i.Begun
}

// reserve allocates lists of the sizes that the previous rank needed, since ranks are alike.
func (i *issuing) reserve(other *Rank) {
	i.rank.Ops = make([]Op, 0, len(other.Ops))
	i.rank.Accesses = make([]Access, 0, len(other.Accesses))
	i.rank.Signals = make([]issue.Signal, 0, len(other.Signals))
	i.rank.Parts = make([]Part, 0, len(other.Parts))
}

// arguments issues the caller's accesses to its arguments: before a call it writes all of them, and
// after a call it reads outputs and overwrites inputs.
func (i *issuing) arguments(kind Kind) {
	o := i.begin(nil, kind, issue.Caller)
	for n, d := range i.Calls.Arguments {
		if at, _ := i.At(nil, calls.Pointer{Base: d.Name}); i.rank.Has[at.Memory] {
			i.touch(nil, int16(n), kind == CallBegin || !d.Output, at, d.Type, i.Constant(d.Elements))
		}
	}
	i.end(o)
}

// begin starts an operation. Accesses, signals and parts up to the matching end belong to it.
func (i *issuing) begin(s calls.Stmt, kind Kind, stream int16) *Op {
	o := Op{Kind: kind, Stream: stream, Stmt: -1, Step: i.Step(), Arg: -1}
	if s != nil {
		o.Stmt = i.numbers[s]
	}
	o.Accesses.First, o.Signals.First, o.Parts.First = int32(len(i.rank.Accesses)), int32(len(i.rank.Signals)), int32(len(i.rank.Parts))
	i.rank.Ops = append(i.rank.Ops, o)
	return &i.rank.Ops[len(i.rank.Ops)-1]
}

func (i *issuing) end(o *Op) {
	o.Accesses.End, o.Signals.End, o.Parts.End = int32(len(i.rank.Accesses)), int32(len(i.rank.Signals)), int32(len(i.rank.Parts))
}

// fault records that a statement cannot be issued, once for each statement and kind of fault.
func (i *issuing) fault(s calls.Stmt, kind issue.FaultKind, format string, args ...any) {
	n := int32(-1)
	if s != nil {
		n = i.numbers[s]
	}
	if key := fmt.Sprint(n, kind); !i.said[key] {
		i.said[key] = true
		i.out.Faults = append(i.out.Faults, Fault{kind, i.Number, n, i.Step(), fmt.Sprintf(format, args...)})
	}
}

// misplaced records that a statement is not allowed inside its parent.
func (i *issuing) misplaced(s calls.Stmt) {
	i.fault(s, issue.Misplaced, "it may not stand there")
}
