package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// taken returns a table in which all names of a program are taken.
func taken(p *calls.Program) *names.Table {
	table := names.NewTable()
	table.Reserve(p.Name)
	r := &calls.Rewriter{Noted: func(_, name string) { table.Reserve(name) }}
	calls.RewriteAll(p.Body, r)
	for _, d := range p.Declarations() {
		r.Rewrite(d)
	}
	return table
}

// nameStreams declares a name for the copy stream, if it is used. In a loop, it declares a name for the compute stream
// of an iteration, if several statements use it.
func nameStreams(p *calls.Program) {
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		if loop, ok := s.(*calls.For); ok {
			nameCompute(loop)
		}
		return []calls.Stmt{s}
	})
	if calls.UsesStream(p.Body, calls.Stream{Name: calls.Copies}) && !declares(p.Body, calls.Copies) {
		p.Body = append([]calls.Stmt{&calls.DeclareStream{Name: calls.Copies}}, p.Body...)
	}
}

// declares reports whether a list declares a stream or a number with a name.
func declares(body []calls.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s calls.Stmt) bool {
		switch s := s.(type) {
		case *calls.DeclareStream:
			return s.Name == name
		case *calls.Let:
			return s.Name == name
		}
		return false
	})
}

// nameCompute declares a name for the compute stream of an iteration if at least two statements of the loop use its
// index, and the loop does not yet declare a stream.
func nameCompute(loop *calls.For) {
	count := map[string]int{}
	var index expr.Expr
	named := false
	for s := range calls.All(loop.Body) {
		named = named || calls.Is[*calls.DeclareStream](s)
		for _, on := range calls.StreamsOf(s) {
			if on.Index == nil || !expr.Mentions(on.Index, loop.Var) {
				continue
			}
			text := on.Index.String()
			if count[text]++; index == nil {
				index = on.Index
			}
		}
	}
	if named || index == nil || count[index.String()] < 2 {
		return
	}
	text := index.String()
	calls.RewriteAll(loop.Body, &calls.Rewriter{Queue: func(on calls.Stream) calls.Stream {
		if on.Index != nil && on.Index.String() == text {
			return calls.Stream{Name: calls.Compute}
		}
		return on
	}})
	loop.Body = append([]calls.Stmt{&calls.DeclareStream{Name: calls.Compute, Index: index}}, loop.Body...)
}
