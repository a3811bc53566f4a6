package order

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// unlike lists ranks that may order their streams differently: all of them where a condition asks
// for the rank, otherwise one for each set of guards.
func unlike(p *calls.Program) []int64 {
	ranks := p.Ranks()
	depends, known := false, p.Values()
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		if loop, ok := s.(*calls.For); ok {
			known[loop.Var] = 0
		}
		return true
	})
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		var cond expr.Expr
		switch s := s.(type) {
		case *calls.If:
			cond = s.Cond
		case *calls.Declare:
			cond = s.Cond
		}
		depends = depends || cond != nil && namesMore(cond, known)
		return !depends
	})
	if depends {
		return ranks
	}
	var list []int64
	seen := map[string]bool{}
	for _, rank := range ranks {
		key := ""
		for _, g := range p.Guards {
			if p.Holds(g.Name, rank) {
				key += g.Name + " "
			}
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, rank)
		}
	}
	return list
}

// namesMore reports whether a condition names anything but parameters and loop variables.
func namesMore(cond expr.Expr, known calls.Values) bool {
	more := false
	expr.Variables(cond, func(name string) {
		if _, ok := known[name]; !ok {
			more = true
		}
	})
	return more
}

// A Clock says how much of the work of each stream is done before something: its n-th task and all
// before it.
type Clock []int

// start is when a call begins: what the caller did before is done.
var start = Clock{1}

// Covers reports whether all that the other one is behind is done.
func (c Clock) Covers(other Clock) bool {
	for i, n := range other {
		if n > 0 && (i >= len(c) || c[i] < n) {
			return false
		}
	}
	return true
}

// merged is what is done before either.
func (c Clock) merged(other Clock) Clock {
	out := slices.Clone(c)
	for i, n := range other {
		if i >= len(out) {
			out = append(out, make([]int, i+1-len(out))...)
		}
		out[i] = max(out[i], n)
	}
	return out
}

// common is what is done before both.
func (c Clock) common(other Clock) Clock {
	out := slices.Clone(c[:min(len(c), len(other))])
	for i := range out {
		out[i] = min(out[i], other[i])
	}
	return out
}
