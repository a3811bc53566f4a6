package unroll

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// issue is the state of one rank while it issues a call.
type issue struct {
	*unroller
	number int32
	rank   *Rank
	env    []int64 // by slot
	step   int32   // value of the innermost loop; -1
	named  map[string]place
	alias  map[string]int16 // streams that statements gave names
	last   []int32          // by event: the operation that recorded it last; -1: none
	open   func(calls.Stmt) // called for statements in a group, a batch or a sum; nil: outside of these
}

// rank issues a call on a rank.
func (u *unroller) rank(number int32) {
	i := &issue{
		unroller: u, number: number, rank: &u.out.Ranks[number], env: make([]int64, len(u.scope.slots)), step: -1,
		named: map[string]place{}, alias: map[string]int16{}, last: slices.Repeat([]int32{-1}, int(u.allEvents)),
	}
	for slot := range i.env {
		i.env[slot] = unset
	}
	i.env[u.scope.slots["rank"]] = int64(number)
	i.rank.Begun = make([]int32, len(u.out.Shares))
	if number > 0 {
		i.reserve(&u.out.Ranks[number-1])
	}
	i.arguments(CallBegin)
	i.list(u.program.Body)
	i.arguments(CallEnd)
}

// reserve allocates lists of the sizes that another rank needed, since ranks are alike.
func (i *issue) reserve(other *Rank) {
	i.rank.Ops = make([]Op, 0, len(other.Ops))
	i.rank.Accesses = make([]Access, 0, len(other.Accesses))
	i.rank.Signals = make([]Signal, 0, len(other.Signals))
	i.rank.Parts = make([]Part, 0, len(other.Parts))
}

// arguments issues the caller's accesses to its arguments.
func (i *issue) arguments(kind Kind) {
	o := i.begin(nil, kind, Caller)
	for n, d := range i.program.Arguments {
		memory := i.memories[d.Name]
		if i.rank.Has[memory] {
			i.touch(nil, int16(n), kind == CallBegin || !d.Output, place{i.number, memory, 0, d.Type.Size(), i.parts[d.Name]}, d.Type.Size(),
				[]int64{i.constant(d.Elements)}, []int64{1})
		}
	}
	i.end(o)
}

// begin starts an operation. Accesses, signals and parts up to the matching end belong to it.
func (i *issue) begin(s calls.Stmt, kind Kind, stream int16) *Op {
	o := Op{Kind: kind, Stream: stream, Stmt: -1, Step: i.step, Arg: -1}
	if s != nil {
		o.Stmt = i.numbers[s]
	}
	o.Accesses.First, o.Signals.First, o.Parts.First = int32(len(i.rank.Accesses)), int32(len(i.rank.Signals)), int32(len(i.rank.Parts))
	i.rank.Ops = append(i.rank.Ops, o)
	return &i.rank.Ops[len(i.rank.Ops)-1]
}

func (i *issue) end(o *Op) {
	o.Accesses.End, o.Signals.End, o.Parts.End = int32(len(i.rank.Accesses)), int32(len(i.rank.Signals)), int32(len(i.rank.Parts))
}

// list issues statements.
func (i *issue) list(body []calls.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *calls.For:
			i.loop(s)
		case *calls.If:
			if i.taken(s) {
				i.list(s.Body)
			} else {
				i.list(s.Else)
			}
		case *calls.Let:
			i.let(s)
		case *calls.Declare:
			i.declare(s)
		default:
			if i.open != nil {
				i.open(s)
			} else {
				i.statement(s)
			}
		}
	}
}

// inside issues the statements inside a group, a batch or a sum. It passes each part to visit.
func (i *issue) inside(body []calls.Stmt, visit func(calls.Stmt)) {
	before := i.open
	i.open = visit
	i.list(body)
	i.open = before
}

func (i *issue) loop(s *calls.For) {
	count, ok := i.value(s, s.Count)
	if !ok {
		return
	}
	slot, outer := i.scope.slots[s.Var], i.step
	for v := s.First; v < count; v++ {
		i.env[slot], i.step = v, int32(v)
		i.list(s.Body)
	}
	i.env[slot], i.step = unset, outer
}

// taken reports whether the rank takes a branch.
func (i *issue) taken(s *calls.If) bool {
	if s.PeerAccess != nil {
		peer, ok := i.value(s, s.PeerAccess)
		if !ok {
			return false
		}
		if peer < 0 || peer >= int64(i.world.size) {
			i.fault(s, BadValue, "there is no rank %d among %d", peer, i.world.size)
			return false
		}
		if (i.node(int32(peer)) == i.node(i.number)) == s.InterNode {
			return false
		}
	}
	if !i.world.holds(s.Guard, i.number) {
		return false
	}
	if s.Cond == nil {
		return true
	}
	v, ok := i.value(s, s.Cond)
	return ok && v != 0
}

// let sets the value of a name. A rank outside of the mesh may have no value, nor a value that depends on one. A use of such a
// name is a fault.
func (i *issue) let(s *calls.Let) {
	slot, v, ok := i.scope.slots[s.Name], int64(i.number), true
	switch m := i.world.meshes[s.Mesh]; {
	case s.Mesh == "" && s.Value == nil:
	case s.Mesh == "":
		v, ok = i.scope.compile(s.Value).eval(i.env)
	case m == nil || s.Axis < 0 || s.Axis >= int64(len(m.extents)):
		i.fault(s, BadName, "there is no axis %d of %s", s.Axis, s.Mesh)
		return
	case s.At == nil:
		v = m.coordinate(s.Axis, i.number)
	default:
		if v, ok = i.scope.compile(s.At).eval(i.env); ok {
			v, ok = m.along(s.Axis, i.number, v)
		}
	}
	if i.env[slot] = v; !ok {
		i.env[slot] = unset
	}
}

func (i *issue) declare(s *calls.Declare) {
	value := s.Value
	if s.Cond != nil {
		if v, ok := i.value(s, s.Cond); ok && v == 0 {
			value = s.Else
		}
	}
	if s.Guard != "" && !i.world.holds(s.Guard, i.number) {
		i.named[s.Name] = nowhere
		return
	}
	at, ok := i.at(s, value)
	if !ok {
		at = nowhere
	}
	i.named[s.Name] = at
}

// value evaluates an expression, or records a fault if it has no value.
func (i *issue) value(s calls.Stmt, e expr.Expr) (int64, bool) {
	if e == nil {
		return 0, true
	}
	v, ok := i.scope.compile(e).eval(i.env)
	if !ok {
		i.fault(s, BadValue, "%s has no value", e)
	}
	return v, ok
}

// fault records a mistake of a statement, the first of each kind.
func (i *issue) fault(s calls.Stmt, kind FaultKind, format string, args ...any) {
	n := int32(-1)
	if s != nil {
		n = i.numbers[s]
	}
	if key := fmt.Sprint(n, kind); !i.said[key] {
		i.said[key] = true
		i.out.Faults = append(i.out.Faults, Fault{kind, i.number, n, i.step, fmt.Sprintf(format, args...)})
	}
}

// on finds the stream that a statement names.
func (i *issue) on(s calls.Stmt, on calls.Stream) (int16, bool) {
	switch {
	case on.Index != nil:
		n, ok := i.value(s, on.Index)
		if ok && (n < 0 || n >= int64(i.program.Streams)) {
			i.fault(s, BadValue, "there is no compute stream %d among %d", n, i.program.Streams)
			return 0, false
		}
		return i.compute(n), ok
	case on.Team:
		return i.team(on), true
	case on.Name == calls.Caller:
		return Caller, true
	}
	if n, ok := i.alias[on.Name]; ok {
		return n, true
	}
	if on.Name == calls.Copies {
		return i.stream(calls.Copies), true
	}
	i.fault(s, BadName, "no stream is called %q", on)
	return 0, false
}

// compute numbers a compute stream.
func (u *unroller) compute(n int64) int16 {
	if n < 0 || n >= int64(len(u.computes)) {
		return u.stream(fmt.Sprintf("compute[%d]", n))
	}
	if u.computes[n] == 0 {
		u.computes[n] = u.stream(fmt.Sprintf("compute[%d]", n))
	}
	return u.computes[n]
}

// team numbers the stream of a team.
func (u *unroller) team(on calls.Stream) int16 {
	n, ok := u.teams[on.Name]
	if !ok {
		n = u.stream(on.String())
		u.teams[on.Name] = n
	}
	return n
}
