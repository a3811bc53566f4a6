package calls

import "github.com/hirgen/hirgen/internal/base/expr"

// Issue walks statements in the order in which one rank issues them. It runs loops, takes branches, and evaluates names.
type Issue struct {
	Program  *Program
	Rank     int64
	Env      Values
	Loops    []Iteration                           // the enclosing loops, with their current values
	Visit    func(Stmt) error                      // called for each other statement, which may contain statements
	Eval     func(Stmt, expr.Expr) (int64, error)  // nil: an expression without a value is 0
	Accesses func(s *If, peer int64) (bool, error) // reports whether a branch with a PeerAccess is taken; nil: all ranks share memory
	Left     func(*If)                             // called after a branch with a PeerAccess; optional
	NoRank   func(*Let) error                      // called for the name of a rank that does not exist; optional
}

// Iteration is a loop at one of its values.
type Iteration struct {
	Loop  *For
	Value int64
}

// NewIssue prepares to issue a program on a rank.
func NewIssue(p *Program, rank int64, visit func(Stmt) error) *Issue {
	i := &Issue{Program: p, Rank: rank, Env: p.Values(), Visit: visit}
	i.Env["rank"] = rank
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
		holds, err := i.Holds(s)
		if err != nil {
			return err
		}
		if s.PeerAccess != nil && i.Left != nil {
			defer i.Left(s)
		}
		if holds {
			return i.List(s.Body)
		}
		return i.List(s.Else)
	case *Let:
		return i.name(s)
	default:
		return i.Visit(s)
	}
}

// name evaluates a Let. On ranks outside of its mesh it has no value.
func (i *Issue) name(s *Let) error {
	v, ok := i.Program.Number(s, i.Env, i.Rank)
	if ok {
		i.Env[s.Name] = v
	} else if i.NoRank != nil && s.Mesh != "" && i.Program.Position(i.Program.MeshNamed(s.Mesh), i.Rank) >= 0 {
		return i.NoRank(s)
	}
	return nil
}

func (i *Issue) loop(s *For) error {
	count, err := i.eval(s, s.Count)
	if err != nil {
		return err
	}
	for v := s.First; v < count; v++ {
		i.Env[s.Var] = v
		i.Loops = append(i.Loops, Iteration{s, v})
		if err := i.List(s.Body); err != nil {
			return err
		}
		i.Loops = i.Loops[:len(i.Loops)-1]
	}
	delete(i.Env, s.Var)
	return nil
}

// Holds reports whether all conditions of a branch hold.
func (i *Issue) Holds(s *If) (bool, error) {
	if s.PeerAccess != nil {
		peer, err := i.eval(s, s.PeerAccess)
		taken := !s.InterNode
		if err == nil && i.Accesses != nil {
			taken, err = i.Accesses(s, peer)
		}
		if err != nil || !taken {
			return false, err
		}
	}
	if s.Guard != "" && !i.Program.Holds(s.Guard, i.Rank) {
		return false, nil
	}
	if s.Cond == nil {
		return true, nil
	}
	v, err := i.eval(s, s.Cond)
	return v != 0, err
}

func (i *Issue) eval(s Stmt, e expr.Expr) (int64, error) {
	if i.Eval != nil {
		return i.Eval(s, e)
	}
	v, _ := i.Env.Eval(e)
	return v, nil
}
