package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/prove/races"
	"github.com/hirgen/hirgen/prove/unroll"
)

// races reports pairs of accesses to the same bytes, at least one of them a write, that nothing orders.
func (v *verification) races() {
	for _, r := range races.Find(v.p, Calls) {
		first := v.p.Ranks[r.First.Rank].Accesses[r.FirstAccess]
		second := v.p.Ranks[r.Second.Rank].Accesses[r.SecondAccess]
		x, y := place(v.p, r.First.Rank, r.First.Op, r.First.Call), place(v.p, r.Second.Rank, r.Second.Op, r.Second.Call)
		bytes := bytesOf(v.p, first)
		bytes.First, bytes.End = shared(v.p, first, second, r.Byte)
		v.add(Finding{
			Check: RaceFreedom, Severity: Error, At: []Place{x, y}, Buffer: bytes,
			Message: fmt.Sprintf("%s of rank %d %s and %s of rank %d %s bytes %d to %d of %s of rank %d, in no order",
				x.Operation, x.Rank, verb(first), y.Operation, y.Rank, verb(second), bytes.First, bytes.End, bytes.Name, bytes.Rank),
			Missing: fmt.Sprintf("from %s (rank %d, %s, call %d) to %s (rank %d, %s, call %d)",
				x.Operation, x.Rank, x.Stream, x.Call, y.Operation, y.Rank, y.Stream, y.Call),
			Chains: []Chain{
				around(v.p, r.First.Rank, r.First.Op, r.First.Call, verb(first)),
				around(v.p, r.Second.Rank, r.Second.Op, r.Second.Call, verb(second)),
			},
		})
	}
}

func verb(a unroll.Access) string {
	if a.Write {
		return "writes"
	}
	return "reads"
}

// shared returns the range of bytes that two accesses have in common or, if one of them is strided, only the one known byte.
func shared(p *unroll.Program, a, b unroll.Access, known int64) (first, end int64) {
	l, m := p.Layouts[a.Layout], p.Layouts[b.Layout]
	if l.Dense() && m.Dense() {
		return max(a.Offset, b.Offset), min(a.Offset+l.Span, b.Offset+m.Span)
	}
	return known, known + 1
}
