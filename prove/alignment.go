package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// aligned reports operands whose first byte is not aligned well enough. Package effects lists the alignment that an
// operand needs. An operand that it does not list needs a multiple of the size of its elements. Each operand of a
// statement is reported once, for all ranks.
func (v *verification) aligned() {
	table, said := effects.New(v.p.Calls), map[[2]int32]bool{}
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Stmt < 0 {
				continue
			}
			operands, _ := table.Of(v.p.Stmts[o.Stmt])
			for _, a := range r.AccessesOf(o) {
				bytes, key := v.needed(operands, a), [2]int32{o.Stmt, int32(a.Operand)}
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

// needed returns the alignment that an access needs, in bytes.
func (v *verification) needed(list []effects.Operand, a unroll.Access) int64 {
	for _, o := range list {
		if o.Number == a.Operand {
			return o.Align
		}
	}
	return v.p.Layouts[a.Layout].Size
}

// bytesAt returns the known alignment of the first byte of an access, in bytes.
func (v *verification) bytesAt(a unroll.Access) int64 {
	memory := int64(align.Buffer)
	if kind := v.p.Memories[a.Memory].Kind; kind == issue.Input || kind == issue.Output {
		memory = align.Argument
	}
	return min(memory, align.PowerOf(a.Offset))
}
