package calls

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// nameStreams names the streams that several statements use: the one of all copies and, in a loop,
// the compute stream of an iteration.
func nameStreams(p *Program) {
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		if loop, ok := s.(*For); ok {
			nameCompute(loop)
		}
		return []Stmt{s}
	})
	if usesStream(p.Body, Stream{Name: Copies}) && !declares(p.Body, Copies) {
		p.Body = append([]Stmt{&DeclareStream{Name: Copies}}, p.Body...)
	}
}

// declares reports whether a list has a name for a stream or the rank.
func declares(body []Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s Stmt) bool {
		switch s := s.(type) {
		case *DeclareStream:
			return s.Name == name
		case *Let:
			return s.Name == name
		}
		return false
	})
}

// nameCompute names the compute stream of an iteration, where one index says it in several places.
func nameCompute(loop *For) {
	count := map[string]int{}
	var index expr.Expr
	named := false
	Walk(loop.Body, func(s Stmt) bool {
		_, stream := s.(*DeclareStream)
		named = named || stream
		for _, on := range streamsOf(s) {
			if on.Index == nil || !mentions(on.Index, loop.Var) {
				continue
			}
			text := on.Index.String()
			if count[text]++; index == nil {
				index = on.Index
			}
		}
		return true
	})
	if named || index == nil || count[index.String()] < 2 {
		return
	}
	text := index.String()
	rewriteAll(loop.Body, &rewriter{queue: func(on Stream) Stream {
		if on.Index != nil && on.Index.String() == text {
			return Stream{Name: Compute}
		}
		return on
	}})
	loop.Body = append([]Stmt{&DeclareStream{Name: Compute, Index: index}}, loop.Body...)
}
