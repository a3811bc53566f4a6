package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// lane identifies the messages from one rank to another over a communicator, which are matched in order.
type lane struct{ comm, from, to int32 }

// turn identifies a part of an NCCL call: op and part are indices in the lists Ops and Parts of its rank.
type turn struct{ rank, op, part int32 }

// collectives reports ranks that make different NCCL calls where they must make the same call, or different
// numbers of calls.
func (v *verification) collectives() {
	brings := make([]map[int32][]turn, len(v.p.Ranks)) // by rank: its collectives, by communicator
	sends, recvs := map[lane][]turn{}, map[lane][]turn{}
	for n := range v.p.Ranks {
		mine := map[int32][]turn{}
		r := &v.p.Ranks[n]
		for i := range r.Ops {
			for at := r.Ops[i].Parts.First; at < r.Ops[i].Parts.End; at++ {
				t, p := turn{int32(n), int32(i), at}, &r.Parts[at]
				switch p.Kind {
				case issue.Collective:
					mine[p.Comm] = append(mine[p.Comm], t)
				case issue.Send:
					key := lane{p.Comm, t.rank, p.Peer}
					sends[key] = append(sends[key], t)
				case issue.Recv:
					key := lane{p.Comm, p.Peer, t.rank}
					recvs[key] = append(recvs[key], t)
				}
			}
		}
		brings[n] = mine
	}
	for comm := range v.p.Comms() {
		ranks := v.p.Comms()[comm].Ranks
		for _, other := range ranks[min(1, len(ranks)):] {
			v.meet(brings[ranks[0]][int32(comm)], brings[other][int32(comm)], ranks[0], other)
		}
	}
	for key, list := range sends {
		v.meet(list, recvs[key], key.from, key.to)
		delete(recvs, key)
	}
	for key, list := range recvs {
		v.meet(nil, list, key.from, key.to)
	}
}

// meet compares the calls of ranks a and b in order, and reports the first difference.
func (v *verification) meet(one, other []turn, a, b int32) {
	for i := range min(len(one), len(other)) {
		if what := v.differs(one[i], other[i]); what != "" {
			x, y := place(v.p, a, one[i].op, 0), place(v.p, b, other[i].op, 0)
			v.add(Finding{
				Check: NcclPairs, Severity: Error, At: []Place{x, y},
				Message: fmt.Sprintf("ranks %d and %d meet in different calls of %s, the %s of their turns: %s", a, b,
					v.p.Library(v.p.Ranks[a].Parts[one[i].part]), ordinal(i), what),
				Chains: []Chain{around(v.p, a, one[i].op, 0, ""), around(v.p, b, other[i].op, 0, "")},
			})
			return
		}
	}
	if len(one) == len(other) {
		return
	}
	more, by, lacks := one, a, b
	if len(other) > len(one) {
		more, by, lacks = other, b, a
	}
	extra := more[min(len(one), len(other))]
	x := place(v.p, by, extra.op, 0)
	v.add(Finding{
		Check: NcclPairs, Severity: Error, At: []Place{x}, Missing: fmt.Sprintf("the same call on rank %d", lacks),
		Message: fmt.Sprintf("%s of rank %d meets rank %d, which makes %d such calls and not %d", x.Operation, by, lacks,
			min(len(one), len(other)), len(more)),
	})
}

// differs describes the first difference that it finds between the parts of two NCCL calls that have to match; empty:
// none.
func (v *verification) differs(a, b turn) string {
	p, q := v.p.Ranks[a.rank].Parts[a.part], v.p.Ranks[b.rank].Parts[b.part]
	if p.Stmt == q.Stmt && p.Count == q.Count && p.Root == q.Root {
		return ""
	}
	x, ok1 := v.p.Stmts[p.Stmt].(*calls.NcclCall)
	y, ok2 := v.p.Stmts[q.Stmt].(*calls.NcclCall)
	switch {
	case !ok1 || !ok2:
		return "no calls of " + v.p.Library(p)
	case p.Kind == issue.Collective && x.Kind != y.Kind:
		return x.Kind + " and " + y.Kind
	case p.Count != q.Count:
		return fmt.Sprintf("%d and %d elements", p.Count, q.Count)
	case x.Type != y.Type:
		return fmt.Sprintf("elements of %s and of %s", x.Type, y.Type)
	case x.Fn != y.Fn:
		return fmt.Sprintf("reductions by %s and by %s", x.Fn, y.Fn)
	case p.Root != q.Root:
		return fmt.Sprintf("roots %d and %d", p.Root, q.Root)
	}
	return ""
}

func ordinal(i int) string {
	switch i {
	case 0:
		return "first"
	case 1:
		return "second"
	case 2:
		return "third"
	}
	return fmt.Sprintf("%dth", i+1)
}
