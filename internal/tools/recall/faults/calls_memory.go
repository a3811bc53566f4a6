package faults

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// sharedFlag makes the last two transfers of a share (the last one of two) use the flags of earlier transfers, both where
// flags are written and where they are waited for. One transfer may not be enough: if step 0 moves nothing, the flag of
// transfer 0 is unused.
func sharedFlag(e *editor, p *calls.Program) {
	for _, d := range p.Shares {
		n, _ := p.Values().Eval(d.Transfers)
		few := min(n-1, 2)
		if few < 1 || !e.here(calls.Info{}.Pos, "share %s: %d flags for %d transfers", d.Name, n-few, n) {
			continue
		}
		less := expr.Op("-", d.Transfers, expr.Int(few))
		eachCall(p, func(s calls.Stmt) {
			if share, transfer := calls.TransferOf(s); transfer != nil && share == d.Name {
				*transfer = expr.Op("%", *transfer, less)
			}
		})
	}
}

func tooFewFlags(e *editor, p *calls.Program) {
	for _, d := range p.Shares {
		if e.here(calls.Info{}.Pos, "share %s: a flag less than %s", d.Name, d.Transfers) {
			d.Transfers = expr.Op("-", d.Transfers, expr.Int(1))
		}
	}
}

// sharedMemory puts a buffer into the memory of an earlier buffer of the same type and ranks that is at least as large.
func sharedMemory(e *editor, p *calls.Program) {
	size := func(b *calls.Buffer) int64 {
		n, _ := p.Values().Eval(b.Elements)
		return n
	}
	for i, b := range p.Buffers {
		for _, in := range p.Buffers[:i] {
			fits := in.In == "" && b.In == "" && b.Type == in.Type && b.Guard == in.Guard && size(b) <= size(in)
			if fits && e.here(calls.Info{}.Pos, "buffer %s: in the memory of %s", b.Name, in.Name) {
				for _, other := range p.Buffers {
					if other.In == b.Name {
						other.In = in.Name
					}
				}
				b.In = in.Name
			}
		}
	}
}

func swappedPointers(e *editor, p *calls.Program) {
	eachCall(p, func(s *calls.Declare) {
		if s.Cond != nil && e.on(s, "the other one") {
			s.Value, s.Else = s.Else, s.Value
		}
	})
}

func wrongName(e *editor, p *calls.Program) {
	eachCall(p, func(s *calls.DeclareStream) {
		if s.Index != nil && p.Streams > 1 && e.on(s, "the next stream") {
			s.Index = expr.Op("%", expr.Op("+", s.Index, expr.Int(1)), expr.Int(p.Streams))
		}
	})
}
