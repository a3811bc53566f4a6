package text

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// SetCurrentStream makes a stream current for the statements after it. It exists only in text and JSON; in memory each statement
// has its stream.
type SetCurrentStream struct {
	hostir.Info
	Stream hostir.StreamRef
}

// current is the current stream at one point of a text.
type current struct {
	stream hostir.StreamRef
	path   bool // the stream depends on the branches and iterations taken before; stream is then unused
}

// is reports whether s is current on every path.
func (c current) is(s hostir.StreamRef) bool { return !c.path && c.stream.Is(s) }

// join returns the current stream where two paths meet.
func join(a, b current) current {
	if a.path || !b.is(a.stream) {
		return current{path: true}
	}
	return a
}

// outside returns the current stream after a loop, given the current stream at the end of its last iteration.
func (c current) outside(variable string) current {
	c.path = c.path || c.stream.Index != nil && expr.Mentions(c.stream.Index, variable)
	return c
}

// behind returns the current stream after a list of statements, given the stream before the list. leaves returns the stream that
// is current after a statement, or false if the statement does not change the current stream.
func behind(body []hostir.Stmt, cur current, leaves func(hostir.Stmt) (hostir.StreamRef, bool)) current {
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			cur = join(cur, behind(s.Body, cur, leaves)).outside(s.Var)
			cur = behind(s.Body, cur, leaves).outside(s.Var)
		case *hostir.If:
			cur = join(behind(s.Body, cur, leaves), behind(s.Else, cur, leaves))
		default:
			if stream, ok := leaves(s); ok {
				cur = current{stream: stream}
			}
		}
	}
	return cur
}

// atHead returns the current stream at the beginning of each iteration of a loop.
func atHead(s *hostir.For, cur current, leaves func(hostir.Stmt) (hostir.StreamRef, bool)) current {
	return join(cur, behind(s.Body, cur, leaves).outside(s.Var))
}

// runsOn returns the stream that has to be current at a statement other than a For or If; false if the statement is
// issued to no stream.
func runsOn(s hostir.Stmt) (hostir.StreamRef, bool) {
	switch s.(type) {
	case *hostir.Allocate, *hostir.GetCurrentStream:
		return hostir.StreamRef{}, false
	default:
		return s.Meta().On, !namesMemory(s)
	}
}

// written returns a copy of a body for printing, with statements that make its views, and a SetCurrentStream wherever the stream
// changes. At its end the caller's stream is current.
func written(body []hostir.Stmt) []hostir.Stmt {
	out, cur := explicitStreams(withViews(body), current{})
	if n := len(out); n > 0 && !cur.is(hostir.StreamRef{}) {
		out = append(out, &SetCurrentStream{Info: hostir.InfoFrom(out[n-1], "")})
	}
	return out
}

func explicitStreams(body []hostir.Stmt, cur current) ([]hostir.Stmt, current) {
	out := make([]hostir.Stmt, 0, len(body))
	for _, s := range body {
		if need, ok := needs(s); ok && !cur.is(need) {
			at := len(out) // before the views that the statement names
			for at > 0 && namesMemory(out[at-1]) {
				at--
			}
			out = slices.Insert(out, at, hostir.Stmt(&SetCurrentStream{Info: hostir.InfoFrom(s, ""), Stream: need}))
			cur = current{stream: need}
		}
		switch inner := s.(type) {
		case *hostir.For:
			loop := *inner
			loop.Body, cur = explicitStreams(loop.Body, atHead(inner, cur, runsOn))
			cur = cur.outside(loop.Var)
			s = &loop
		case *hostir.If:
			branch, other := *inner, cur
			branch.Body, cur = explicitStreams(branch.Body, cur)
			branch.Else, other = explicitStreams(branch.Else, other)
			cur = join(cur, other)
			s = &branch
		}
		out = append(out, s)
	}
	return out, cur
}

// needs returns the stream that has to be current before a statement. For a branch it is the stream on which its sides begin. For
// a loop it is the stream on which all iterations begin and end. needs returns false if no stream has to be current, or if the
// sides or iterations need different ones.
func needs(s hostir.Stmt) (hostir.StreamRef, bool) {
	switch s := s.(type) {
	case *hostir.For:
		need, ok := firstNeed(s.Body)
		cur := current{stream: need}
		return need, ok && atHead(s, cur, runsOn).is(need)
	case *hostir.If:
		then, ok := firstNeed(s.Body)
		other, ok2 := firstNeed(s.Else)
		if ok && ok2 && !then.Is(other) {
			return then, false
		}
		if !ok {
			then = other
		}
		return then, ok || ok2
	default:
		return runsOn(s)
	}
}

func firstNeed(body []hostir.Stmt) (hostir.StreamRef, bool) {
	for _, s := range body {
		if need, ok := needs(s); ok {
			return need, true
		}
		if len(hostir.Bodies(s)) > 0 {
			break
		}
	}
	return hostir.StreamRef{}, false
}

// folded removes the SetCurrentStreams from a parsed body, and sets the stream of each other statement. It also returns
// the current stream after the body.
func (p *parser) folded(body []hostir.Stmt, cur current) ([]hostir.Stmt, current) {
	sets := func(s hostir.Stmt) (hostir.StreamRef, bool) {
		set, ok := s.(*SetCurrentStream)
		if !ok {
			return hostir.StreamRef{}, false
		}
		return set.Stream, true
	}
	var out []hostir.Stmt
	for _, s := range body {
		switch s := s.(type) {
		case *SetCurrentStream:
			cur = current{stream: s.Stream}
			continue
		case *hostir.For:
			s.Body, cur = p.folded(s.Body, atHead(s, cur, sets))
			cur = cur.outside(s.Var)
		case *hostir.If:
			var other current
			s.Else, other = p.folded(s.Else, cur)
			s.Body, cur = p.folded(s.Body, cur)
			cur = join(cur, other)
		default:
			if _, runs := runsOn(s); runs && cur.path {
				p.errors.Add(p.lines[s], diag.HostIRSyntax, "the stream that %s runs on depends on the path taken", hostir.Op(s))
			} else if runs {
				hostir.RunOn(cur.stream, s)
			}
		}
		out = append(out, s)
	}
	return out, cur
}
