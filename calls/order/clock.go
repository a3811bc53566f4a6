package order

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/clock"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// unlike lists ranks that may order their streams differently. If a condition may depend on the rank, it lists all
// ranks. Otherwise it lists one rank for each set of guards that hold on some rank.
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

// namesMore reports whether a condition contains names other than parameters, constants and loop variables.
func namesMore(cond expr.Expr, known calls.Values) bool {
	more := false
	expr.Variables(cond, func(name string) {
		if _, ok := known[name]; !ok {
			more = true
		}
	})
	return more
}

// A Clock is a vector clock: for each stream, the number of its tasks that have ended.
type Clock = clock.Clock[int]

// start is the clock at the beginning of a call. Its one task, on the caller's stream, represents the caller's earlier
// work.
var start = Clock{1}
