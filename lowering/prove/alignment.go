package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/calls/align"
	"github.com/hirgen/hirgen/lowering/prove/unroll"
)

// aligned reports operands that begin where their statement may not access them: those of GEMMs and attentions are as aligned
// as their shapes say, and all are aligned to their elements. Each operand of a statement is reported once.
func (v *verification) aligned() {
	needs, of, said := align.NeedsOf(v.p.Calls), map[int32][]align.Operand{}, map[[2]int32]bool{}
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Stmt < 0 {
				continue
			}
			if _, known := of[o.Stmt]; !known {
				of[o.Stmt] = needs.Of(v.p.Stmts[o.Stmt])
			}
			for _, a := range r.AccessesOf(o) {
				bytes, key := v.needed(of[o.Stmt], a), [2]int32{o.Stmt, int32(a.Operand)}
				if v.bytesAt(a) >= bytes || said[key] {
					continue
				}
				said[key] = true
				at := place(v.p, int32(n), int32(i), 0)
				v.add(Finding{
					Check: Alignment, Severity: Error, At: []Place{at}, Buffer: bytesOf(v.p, a),
					Message: fmt.Sprintf("%s on rank %d %s, which begins at a multiple of %d bytes and has to at one of %d",
						at.Operation, n, v.p.AccessName(int32(n), a), v.bytesAt(a), bytes),
				})
			}
		}
	}
}

// needed is what an access needs to be aligned to.
func (v *verification) needed(list []align.Operand, a unroll.Access) int64 {
	for _, o := range list {
		if o.Number == a.Operand {
			return o.Needs
		}
	}
	return v.p.Layouts[a.Layout].Size
}

// bytesAt is what the first byte of an access is aligned to.
func (v *verification) bytesAt(a unroll.Access) int64 {
	memory := int64(align.Buffer)
	if kind := v.p.Memories[a.Memory].Kind; kind == unroll.Input || kind == unroll.Output {
		memory = align.Argument
	}
	return min(memory, align.PowerOf(a.Offset))
}
