package issue

import (
	"math"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// unset represents the value of a name that has none, or of an expression that cannot be computed.
const unset = math.MinInt64

// node is a compiled expression. Parameters and constants are replaced by their values. Each name that a statement
// defines has a slot.
type node struct {
	op    byte // 'k': value, 'v': slot; otherwise the first character of the operator
	slot  int32
	value int64
	x, y  *node
}

// scope compiles expressions, each once.
type scope struct {
	known calls.Values
	slots map[string]int32
	nodes map[expr.Expr]*node
}

// newScope returns a scope with a slot for "rank" and for each name that a statement defines.
func newScope(p *calls.Program) *scope {
	s := &scope{known: p.Values(), slots: map[string]int32{}, nodes: map[expr.Expr]*node{}}
	s.declare("rank")
	calls.Walk(p.Body, func(stmt calls.Stmt) bool {
		switch stmt := stmt.(type) {
		case *calls.For:
			s.declare(stmt.Var)
		case *calls.Let:
			s.declare(stmt.Name)
		}
		return true
	})
	return s
}

func (s *scope) declare(name string) {
	if _, ok := s.slots[name]; !ok {
		s.slots[name] = int32(len(s.slots))
		delete(s.known, name)
	}
}

// compile returns the node of an expression.
func (s *scope) compile(e expr.Expr) *node {
	if n, ok := s.nodes[e]; ok {
		return n
	}
	n := s.build(e)
	s.nodes[e] = n
	return n
}

func (s *scope) build(e expr.Expr) *node {
	switch e := e.(type) {
	case expr.Int:
		return &node{op: 'k', value: int64(e)}
	case expr.Var:
		if slot, ok := s.slots[string(e)]; ok {
			return &node{op: 'v', slot: slot}
		}
		if v, ok := s.known[string(e)]; ok {
			return &node{op: 'k', value: v}
		}
		return &node{op: 'k', value: unset}
	case *expr.Binary:
		n := &node{op: e.Op[0], x: s.compile(e.X), y: s.compile(e.Y)}
		if n.x.op == 'k' && n.y.op == 'k' {
			v, _ := n.eval(nil)
			return &node{op: 'k', value: v}
		}
		return n
	}
	return &node{op: 'k', value: unset}
}

// eval evaluates an expression. ok is false if a name has no value, a sum or product overflows, a divisor is 0, or a
// division leaves a remainder.
func (n *node) eval(env []int64) (value int64, ok bool) {
	switch n.op {
	case 'k':
		return n.value, n.value != unset
	case 'v':
		v := env[n.slot]
		return v, v != unset
	}
	x, ok := n.x.eval(env)
	if !ok {
		return unset, false
	}
	y, ok := n.y.eval(env)
	if !ok {
		return unset, false
	}
	v, ok := n.apply(x, y)
	if !ok {
		return unset, false
	}
	return v, true
}

func (n *node) apply(x, y int64) (value int64, ok bool) {
	switch n.op {
	case '+':
		return expr.Add(x, y)
	case '-':
		return x - y, true
	case '*':
		return expr.Mul(x, y)
	case '/':
		if y == 0 || x%y != 0 {
			return 0, false
		}
		return x / y, true
	case '%':
		if y == 0 {
			return 0, false
		}
		return (x%y + y) % y, true
	case '^':
		return x ^ y, true
	case '=':
		return truth(x == y), true
	case '!':
		return truth(x != y), true
	case '<':
		return truth(x < y), true
	case '>':
		return truth(x >= y), true
	}
	return 0, false
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
