package issue

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Rank issues statements on one rank.
type Rank struct {
	*World
	Number int32
	Loops  []Iteration        // the enclosing loops, with their current values
	Begun  []int32            // by share: how often a BeginCall counted a call of it
	Within *calls.RowExchange // the enclosing RowExchange; nil: none
	Stop   bool               // set it to issue no more statements
	// Fault, if set, is called for an operation that cannot be issued.
	Fault func(s calls.Stmt, kind FaultKind, format string, args ...any)
	// Accesses, if set, decides whether the PeerAccess of a branch holds; otherwise the nodes of the two ranks do.
	// Left, if set, is called after such a branch.
	Accesses func(s *calls.If) bool
	Left     func()

	started []bool // by share: whether its BeginCall was issued

	visit func(calls.Stmt)
	env   []int64 // values of names, by slot in the scope
	named map[string]Place
	alias map[string]int16 // numbers of the streams that statements gave names
}

// Iteration is a loop at one of its values.
type Iteration struct {
	Loop  *calls.For
	Value int64
}

// FaultKind names the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	BadValue  FaultKind = "value"   // an expression has no value, or a value out of range
	BadName   FaultKind = "name"    // a name is not declared
	Bounds    FaultKind = "bounds"  // outside of the memory
	NoMemory  FaultKind = "absent"  // the rank does not have the memory
	WrongType FaultKind = "type"    // the memory holds elements of another type
	Unreached FaultKind = "reach"   // a peer shares no memory with the rank, or the rank is not in a team
	Misplaced FaultKind = "nesting" // a statement is not allowed inside its parent
)

// Rank returns a Rank that issues the program on the rank with the given number.
func (w *World) Rank(number int32) *Rank {
	r := &Rank{
		World: w, Number: number, Begun: make([]int32, len(w.Shares)), started: make([]bool, len(w.Shares)),
		env:   slices.Repeat([]int64{unset}, len(w.scope.slots)),
		named: map[string]Place{}, alias: map[string]int16{},
	}
	r.env[w.scope.slots["rank"]] = int64(number)
	return r
}

// Run issues statements in order. It runs loops, branches, declarations of names and RowExchanges itself, and calls
// visit for each other statement. It visits the statements inside a MemOpBatch, an NcclGroup or a PeerSum only if visit
// calls Run for them.
func (r *Rank) Run(body []calls.Stmt, visit func(calls.Stmt)) {
	before := r.visit
	r.visit = visit
	r.list(body)
	r.visit = before
}

func (r *Rank) list(body []calls.Stmt) {
	for _, s := range body {
		if r.Stop {
			return
		}
		switch s := s.(type) {
		case *calls.For:
			r.loop(s)
		case *calls.If:
			r.branch(s)
		case *calls.RowExchange:
			r.Within = s
			r.list(s.Body)
			r.Within = nil
		case *calls.Let:
			r.let(s)
		case *calls.Declare:
			r.declare(s)
		case *calls.DeclareStream:
			if n, ok := r.On(s, calls.Stream{Name: calls.Copies, Index: s.Index}); ok {
				r.alias[s.Name] = n
			}
		default:
			r.visit(s)
		}
	}
}

func (r *Rank) loop(s *calls.For) {
	count, ok := r.Value(s, s.Count)
	if !ok {
		return
	}
	slot, depth := r.scope.slots[s.Var], len(r.Loops)
	r.Loops = append(r.Loops, Iteration{Loop: s})
	for v := s.First; v < count && !r.Stop; v++ {
		r.env[slot], r.Loops[depth].Value = v, v
		r.list(s.Body)
	}
	r.env[slot], r.Loops = unset, r.Loops[:depth]
}

// Step returns the value of the innermost loop's variable; -1: there is no loop.
func (r *Rank) Step() int32 {
	if len(r.Loops) == 0 {
		return -1
	}
	return int32(r.Loops[len(r.Loops)-1].Value)
}

func (r *Rank) branch(s *calls.If) {
	if r.taken(s) {
		r.list(s.Body)
	} else {
		r.list(s.Else)
	}
	if s.PeerAccess != nil && r.Left != nil {
		r.Left()
	}
}

// taken reports whether all conditions of a branch hold on the rank.
func (r *Rank) taken(s *calls.If) bool {
	if s.PeerAccess != nil && !r.reaches(s) || !r.holds(s.Guard, r.Number) {
		return false
	}
	if s.Cond == nil {
		return true
	}
	v, ok := r.Value(s, s.Cond)
	return ok && v != 0
}

// reaches reports whether the PeerAccess of a branch holds. Accesses decides if it is set; otherwise the nodes of the
// two ranks do.
func (r *Rank) reaches(s *calls.If) bool {
	if r.Accesses != nil {
		return r.Accesses(s)
	}
	peer, ok := r.rankAt(s, s.PeerAccess)
	return ok && (r.node(peer) == r.node(r.Number)) != s.InterNode
}

// rankAt evaluates the number of a rank. A number outside of the world is a fault.
func (r *Rank) rankAt(s calls.Stmt, e expr.Expr) (int32, bool) {
	v, ok := r.Value(s, e)
	if ok && (v < 0 || v >= int64(r.Size)) {
		r.fault(s, BadValue, "there is no rank %d among %d", v, r.Size)
		return 0, false
	}
	return int32(v), ok
}

// let sets the value of a name. On a rank outside of the mesh, a coordinate is -1, and a name with At has no value. A
// name computed from a name without a value has none either. The use of a name without a value is a fault.
func (r *Rank) let(s *calls.Let) {
	slot, v, ok := r.scope.slots[s.Name], int64(r.Number), true
	switch m := r.meshes[s.Mesh]; {
	case s.Mesh == "" && s.Value == nil:
	case s.Mesh == "":
		v, ok = r.scope.compile(s.Value).eval(r.env)
	case m == nil || s.Axis < 0 || s.Axis >= int64(len(m.extents)):
		r.fault(s, BadName, "there is no axis %d of %s", s.Axis, s.Mesh)
		return
	case s.At == nil:
		v = m.coordinate(s.Axis, r.Number)
	case m.at[r.Number] < 0:
		ok = false
	default:
		if v, ok = r.scope.compile(s.At).eval(r.env); ok {
			if v, ok = m.along(s.Axis, r.Number, v); !ok {
				r.fault(s, BadValue, "there is no rank at %s", s.At)
			}
		}
	}
	if r.env[slot] = v; !ok {
		r.env[slot] = unset
	}
}

func (r *Rank) declare(s *calls.Declare) {
	value := s.Value
	if s.Cond != nil {
		if v, ok := r.Value(s, s.Cond); ok && v == 0 {
			value = s.Else
		}
	}
	at := nowhere
	if r.holds(s.Guard, r.Number) {
		if found, ok := r.At(s, value); ok {
			at = found
		}
	}
	r.named[s.Name] = at
}

// Value evaluates an expression; nil has the value 0. It is a fault if the expression has no value.
func (r *Rank) Value(s calls.Stmt, e expr.Expr) (int64, bool) {
	if e == nil {
		return 0, true
	}
	v, ok := r.scope.compile(e).eval(r.env)
	if !ok {
		r.fault(s, BadValue, "%s has no value", e)
		return 0, false
	}
	return v, true
}

func (r *Rank) fault(s calls.Stmt, kind FaultKind, format string, args ...any) {
	if r.Fault != nil {
		r.Fault(s, kind, format, args...)
	}
}
