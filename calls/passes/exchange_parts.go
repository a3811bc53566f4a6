package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// inTurn sorts the parts of an exchange in place by their turn, and returns them.
func inTurn(body []calls.Stmt) []calls.Stmt {
	slices.SortStableFunc(body, func(a, b calls.Stmt) int { return turn(a) - turn(b) })
	return body
}

// turn returns the position of a part in an exchange: 0 for ready flags, 1 for transfers, 2 for the copy of the local
// part, 3 for waits for done flags.
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

// ownPart returns a pointer to the local part: the source of the first transfer, with this rank's number in place of
// the names that body defines, such as the peer. It is nil if there is no transfer, or if the base of the source or the
// offset of the destination contains such a name.
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

// keepOwn changes the copy of the local part to its slot, or the transfers. If the transfers read that slot (through),
// they then read the source of the copy instead. Otherwise, if own is known, one Memcpy from own to the slot replaces
// the copy, which may be the only iteration of a loop.
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

// localNames returns the names of loop variables, numbers and pointers that statements define.
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

// has reports whether the base or the offset of a pointer contains a name of the list.
func has(list map[string]bool, p calls.Pointer) (found bool) {
	found = list[p.Base]
	if p.Offset != nil {
		expr.Variables(p.Offset, func(name string) { found = found || list[name] })
	}
	return found
}

// inside turns statements into parts of an exchange, without their batches and records. They get the label and the
// position of the exchange, which error reports show.
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
