package prove

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// operands reports operations with two operands that share bytes, if they write one of them and inPlace does not
// allow it. It also reports operations that write an element twice, since the thread blocks of a kernel run in no
// fixed order. It reports a pair of operands of a statement once.
func (v *verification) operands() {
	said := map[[3]int32]bool{}
	for n := range v.p.Ranks {
		for i := range v.p.Ranks[n].Ops {
			if v.p.Ranks[n].Ops[i].Stmt >= 0 {
				v.operandsOf(int32(n), int32(i), said)
			}
		}
	}
}

func (v *verification) operandsOf(rank, op int32, said map[[3]int32]bool) {
	r := &v.p.Ranks[rank]
	o := &r.Ops[op]
	list := r.AccessesOf(o)
	for a := range list {
		for b := range list[:a+1] {
			key := [3]int32{o.Stmt, int32(a), int32(b)}
			if !list[a].Write && !list[b].Write || said[key] {
				continue
			}
			if message := v.clash(rank, o, a, b); message != "" {
				said[key] = true
				at := place(v.p, rank, op, 0)
				v.add(Finding{
					Check: Operands, Severity: Error, At: []Place{at}, Buffer: bytesOf(v.p, list[a]),
					Message: fmt.Sprintf("%s on rank %d %s", at.Operation, rank, message),
				})
			}
		}
	}
}

// clash describes what is wrong with the operands a and b of an operation, at least one of which is written; empty:
// nothing. If a == b, it checks only that the operand does not write an element twice.
func (v *verification) clash(rank int32, o *unroll.Op, a, b int) string {
	list := v.p.Ranks[rank].AccessesOf(o)
	one, other := &list[a], &list[b]
	l, m := v.p.Layouts[one.Layout], v.p.Layouts[other.Layout]
	if a == b {
		if l.Repeats() {
			return "writes elements twice: " + v.p.AccessName(one.Owner, *one)
		}
		return ""
	}
	if one.Owner != other.Owner || one.Memory != other.Memory {
		return ""
	}
	behind := other.Offset - one.Offset
	if _, ok := unroll.Overlap(l, m, behind); !ok || v.p.Memories[one.Memory].Bytes == 0 || v.inPlace(rank, o, one, other) {
		return ""
	}
	return fmt.Sprintf("%s and %s, which share bytes", v.p.AccessName(one.Owner, *one), v.p.AccessName(other.Owner, *other))
}

// inPlace reports whether an operation may have two overlapping operands. A kernel that reads elements or rows before it
// stores them may overwrite an operand with its first result. The result of a GEMM may overwrite its addend. The result of
// a sum that reads peer memory may overwrite a partial sum.
func (v *verification) inPlace(rank int32, o *unroll.Op, one, other *unroll.Access) bool {
	if one.Write == other.Write {
		return false
	}
	same := one.Offset == other.Offset && v.p.Layouts[one.Layout].Same(v.p.Layouts[other.Layout])
	switch o.Kind {
	case unroll.Gemm:
		return same && one.Operand+other.Operand == 3 && one.Operand*other.Operand == 0
	case unroll.Launch:
		return same && one.Operand*other.Operand == 0
	case unroll.PeerSum:
		return same
	case unroll.Nccl:
		return v.ownSlice(rank, o)
	}
	return false
}

// ownSlice reports whether an operation is one collective in which the slice that the rank sends to itself has the same
// place in the operand and in the result. NCCL allows only this overlap.
func (v *verification) ownSlice(rank int32, o *unroll.Op) bool {
	r := &v.p.Ranks[rank]
	parts := r.PartsOf(o)
	if len(parts) != 1 || parts[0].Kind != issue.Collective {
		return false
	}
	part := &parts[0]
	s, _ := v.p.Stmts[part.Stmt].(*calls.NcclCall)
	team := v.p.Comms()[part.Comm].Ranks
	sent, received, ok := collective.Of(s.Kind).Own(int64(len(team)), int64(slices.Index(team, rank)))
	slice := part.Count * s.Type.Size()
	return ok && r.Accesses[part.In].Offset+sent*slice == r.Accesses[part.Out].Offset+received*slice
}
