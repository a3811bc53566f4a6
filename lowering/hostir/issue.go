package hostir

import (
	"encoding/binary"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// Issue walks statements in the order in which one rank issues them. It runs loops, takes branches and tracks the values of
// names.
type Issue struct {
	Env   map[string]int64                 // the rank, parameters, and the variables of the enclosing loops
	Loops []string                         // the variables of the enclosing loops, outermost first
	Visit func(Stmt) error                 // called for each statement except For, If and those inside a PeerReadSum
	Turn  func() error                     // called before each iteration, if set
	Fail  func(Stmt, string, ...any) error // makes the error for an expression that has no value; nil: the expression's own error
}

// NewIssue prepares to issue a program on a rank.
func NewIssue(p *Program, rank int, visit func(Stmt) error) *Issue {
	i := &Issue{Env: map[string]int64{"rank": int64(rank)}, Visit: visit}
	for _, param := range p.Params {
		i.Env[param.Name] = param.Value
	}
	return i
}

// List issues statements. It stops at the first error.
func (i *Issue) List(body []Stmt) error {
	for _, s := range body {
		if err := i.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (i *Issue) statement(s Stmt) error {
	switch s := s.(type) {
	case *For:
		return i.loop(s)
	case *If:
		holds, err := i.EvalIn(s, s.Cond)
		switch {
		case err != nil:
			return err
		case holds != 0:
			return i.List(s.Body)
		}
		return i.List(s.Else)
	default:
		return i.Visit(s)
	}
}

func (i *Issue) loop(s *For) error {
	outer, shadowed := i.Env[s.Var]
	i.Loops = append(i.Loops, s.Var)
	for v := s.First; v < s.Count.Size; v++ {
		i.Env[s.Var] = v
		if i.Turn != nil {
			if err := i.Turn(); err != nil {
				return err
			}
		}
		if err := i.List(s.Body); err != nil {
			return err
		}
	}
	i.Loops = i.Loops[:len(i.Loops)-1]
	if delete(i.Env, s.Var); shadowed {
		i.Env[s.Var] = outer
	}
	return nil
}

// Eval evaluates an expression with the current values of names.
func (i *Issue) Eval(e expr.Expr) (int64, error) {
	return expr.Eval(e, func(name string) (int64, bool) {
		v, ok := i.Env[name]
		return v, ok
	})
}

// EvalIn evaluates an expression of a statement. If the expression has no value, Fail makes the error, if set.
func (i *Issue) EvalIn(s Stmt, e expr.Expr) (int64, error) {
	v, err := i.Eval(e)
	if err != nil && i.Fail != nil {
		return 0, i.Fail(s, "%v", err)
	}
	return v, err
}

// Iteration returns the current values of the given loop variables.
func (i *Issue) Iteration(loops []string) []int64 {
	return lists.Map(loops, func(name string) int64 { return i.Env[name] })
}

// Key returns a string that identifies the current iteration of the given loops: no two iterations of them have the
// same key.
func (i *Issue) Key(loops []string) string {
	key := make([]byte, 0, 16)
	for _, name := range loops {
		key = binary.AppendVarint(key, i.Env[name])
	}
	return string(key)
}

// Started has an entry of the caller's type T for each communication that has started, by handle and by the iteration
// of the loops around it.
type Started[T any] map[string]*startedIn[T]

// startedIn holds the entries of one communication.
type startedIn[T any] struct {
	loops []string     // the variables of the loops around it, outermost first
	by    map[string]T // by Issue.Key of loops
}

// Note records an entry of a communication in the current iteration.
func (s Started[T]) Note(i *Issue, handle string, t T) {
	if s[handle] == nil {
		s[handle] = &startedIn[T]{slices.Clone(i.Loops), map[string]T{}}
	}
	s[handle].by[i.Key(s[handle].loops)] = t
}

// Awaited returns the entry that a Wait is for, from the current iteration or from the earlier iteration that it names. found is
// false if the communication was not started in that iteration. The handle must have an entry of some iteration.
func (s Started[T]) Awaited(i *Issue, w *Wait) (t T, found bool, err error) {
	c := s[w.Handle]
	if w.Iteration != nil && len(c.loops) > 0 {
		earlier, err := i.EvalIn(w, w.Iteration)
		if err != nil {
			return t, false, err
		}
		now, looping := i.Env[c.loops[0]]
		defer func() {
			if i.Env[c.loops[0]] = now; !looping {
				delete(i.Env, c.loops[0])
			}
		}()
		i.Env[c.loops[0]] = earlier
	}
	t, found = c.by[i.Key(c.loops)]
	return t, found, nil
}
