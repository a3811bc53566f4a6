package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// inTurn sorts the parts of an exchange.
func inTurn(body []calls.Stmt) []calls.Stmt {
	slices.SortStableFunc(body, func(a, b calls.Stmt) int { return turn(a) - turn(b) })
	return body
}

// turn ranks the parts of an exchange: ready flags, transfers, the copy of the own part, done flags.
func turn(s calls.Stmt) (n int) {
	for s := range calls.All([]calls.Stmt{s}) {
		switch s.(type) {
		case *calls.Transfer:
			n = 1
		case *calls.Memcpy:
			n = 2
		case *calls.FlagWait:
			n = 3
		}
	}
	return n
}

// ownPart returns the part of a rank itself, as transfers write the parts of their peers; nil if they do not say where it is.
func ownPart(body []calls.Stmt) *calls.Pointer {
	local, itself := localNames(body), map[string]expr.Expr{}
	for name := range local {
		itself[name] = expr.Var("rank")
	}
	for send := range calls.Each[*calls.Transfer](body) {
		own := send.In
		for d := range calls.Each[*calls.Declare](body) {
			if d.Name == own.Base && d.Else == (calls.Pointer{}) {
				own = calls.Pointer{Base: d.Value.Base, Offset: expr.Sum(d.Value.Offset, own.Offset)}
			}
		}
		if local[own.Base] || has(local, calls.Pointer{Offset: send.Out.Offset}) {
			return nil
		}
		if own.Offset != nil {
			own.Offset = expr.Substitute(own.Offset, itself)
		}
		return &own
	}
	return nil
}

// keepOwn writes the copy of the own part, which may be the only iteration of a loop, as transfers write theirs. If these read the slot to
// which it is copied, they read its source instead.
func (m *exchangeMaker) keepOwn(body []calls.Stmt) {
	for i, s := range body {
		for keep := range calls.Each[*calls.Memcpy]([]calls.Stmt{s}) {
			for send := range calls.Each[*calls.Transfer](body) {
				switch {
				case m.through:
					send.In = keep.In
				case m.own != nil:
					keep.Out, keep.In = calls.Pointer{Base: m.share.Memory, Offset: send.Out.Offset}, *m.own
					body[i] = keep
				}
			}
		}
	}
}

// localNames returns the names that statements define for each other.
func localNames(body []calls.Stmt) map[string]bool {
	local := map[string]bool{}
	for s := range calls.All(body) {
		switch s := s.(type) {
		case *calls.For:
			local[s.Var] = true
		case *calls.Let:
			local[s.Name] = true
		case *calls.Declare:
			local[s.Name] = true
		}
	}
	return local
}

// has reports whether a pointer has one of some names.
func has(list map[string]bool, p calls.Pointer) (found bool) {
	found = list[p.Base]
	if p.Offset != nil {
		expr.Variables(p.Offset, func(name string) { found = found || list[name] })
	}
	return found
}

// inside turns statements into parts of an exchange. Reports name them after its kernel, and say where that is
// in the spec.
func (m *exchangeMaker) inside(body []calls.Stmt, name string, of *calls.Info) (out []calls.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *calls.MemOpBatch:
			out = append(out, m.inside(s.Body, name, of)...)
			continue
		case *calls.For:
			s.Body = m.inside(s.Body, name, of)
		case *calls.EventRecord:
			m.dropped[s.Event.Set] = true
			continue
		case *calls.FlagWrite:
			s.Batch, s.Label, s.Joins, s.Kernel, s.On = name, of.Label, "", false, calls.Stream{Name: calls.Caller}
		case *calls.FlagWait:
			s.Batch, s.Label, s.Joins, s.Kernel, s.On = name, of.Label, "", false, calls.Stream{Name: calls.Caller}
		case *calls.Transfer:
			s.Batch, s.Label, s.Joins, s.On = name, of.Label, "", calls.Stream{Name: calls.Caller}
		case *calls.Memcpy:
			s.Batch, s.Label, s.On = name, of.Label, calls.Stream{Name: calls.Caller}
		}
		s.Meta().Note, s.Meta().Pos = "", of.Pos
		out = append(out, s)
	}
	return out
}
