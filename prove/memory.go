package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/unroll"
)

// memory reports the faults of the unrolled program, such as operands outside of their memory, and uses of flags
// before their BeginCall.
func (v *verification) memory() {
	for _, f := range v.p.Faults {
		at := Place{Rank: f.Rank, Call: 1, Spec: spec(v.p, f.Stmt)}
		if f.Stmt >= 0 {
			s := v.p.Stmts[f.Stmt]
			at.Operation = calls.Op(s) + " " + s.Meta().Label
			if on := calls.StreamsOf(s); len(on) > 0 {
				at.Stream = on[0].String()
			}
		}
		v.add(Finding{Check: Memory, Severity: Error, Message: fmt.Sprintf("%s on rank %d: %s", at.Operation, f.Rank, f.Text), At: []Place{at}})
	}
	v.unbegun()
}

// unbegun reports operations that use flags of a share before the BeginCall of the rank: their sequence number is
// still 0. It reports each statement once.
func (v *verification) unbegun() {
	said := map[int32]bool{}
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		for i := range r.Ops {
			for _, s := range r.SignalsOf(&r.Ops[i]) {
				if s.Sequence == 0 && !said[r.Ops[i].Stmt] {
					said[r.Ops[i].Stmt] = true
					at := place(v.p, int32(n), int32(i), 0)
					v.add(Finding{
						Check: Memory, Severity: Error, At: []Place{at}, Missing: "a BeginCall before it, or the kernel that counts its calls",
						Message: fmt.Sprintf("%s uses the flag %s before the call of what is shared begins", at.Operation, v.p.FlagName(s.Owner, s.Flag)),
					})
				}
			}
		}
	}
}

// bytesOf returns the range of bytes from the first to the last byte of an access.
func bytesOf(p *unroll.Program, a unroll.Access) *Bytes {
	return &Bytes{Name: p.Memories[a.Memory].Name, Rank: a.Owner, First: a.Offset, End: a.Offset + p.Layouts[a.Layout].Span}
}
