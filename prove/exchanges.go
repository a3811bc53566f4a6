package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/prove/unroll"
)

// exchanges checks kernels that exchange rows. The other checks assume that the statements of such a kernel run one
// after the other, but the kernel runs all of them row by row. So it may store a row of a result while it still sends
// other rows. When it computes a row, only the same row of each peer's part is sure to have arrived.
func (v *verification) exchanges() {
	sums := map[string]bool{} // exchanges whose rows their kernel reads
	for _, s := range v.p.Stmts {
		if l, ok := s.(*calls.Launch); ok && l.Batch != "" {
			sums[l.Batch] = true
		}
	}
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		own := map[int32]unroll.Access{} // by memory: an access that writes this rank's part in the memory of a peer
		var copies []int32               // operations of the kernel so far
		kernel := ""
		for i := range r.Ops {
			s, of := v.exchanged(&r.Ops[i])
			if s == nil {
				continue
			}
			if of != kernel {
				kernel, copies = of, nil
			}
			switch s.(type) {
			case *calls.Transfer:
				for _, a := range r.AccessesOf(&r.Ops[i]) {
					if a.Operand == effects.Out && sums[of] {
						own[a.Memory] = a
					}
				}
			default:
				v.exchange(int32(n), int32(i), copies)
			}
			copies = append(copies, int32(i))
		}
		v.onlyOwnParts(int32(n), own, sums)
	}
}

// onlyOwnParts checks that only kernels that exchange rows use the rows that peers write. Other operations may use only
// the rank's own part of that memory. Elsewhere, peers may write the rows of the next call as soon as the kernel has
// read the rows of this call.
func (v *verification) onlyOwnParts(rank int32, own map[int32]unroll.Access, sums map[string]bool) {
	r := &v.p.Ranks[rank]
	for i := range r.Ops {
		if r.Ops[i].Stmt < 0 {
			continue
		}
		if _, of := v.exchanged(&r.Ops[i]); sums[of] {
			continue
		}
		for _, a := range r.AccessesOf(&r.Ops[i]) {
			part, shared := own[a.Memory]
			behind, bytes := a.Offset-part.Offset, v.p.Layouts[part.Layout].Span
			if shared && a.Operand >= 0 && (a.Owner != rank || behind < 0 || behind+v.p.Layouts[a.Layout].Span > bytes) {
				at := place(v.p, rank, int32(i), 0)
				v.add(Finding{Check: Operands, Severity: Error, At: []Place{at}, Buffer: bytesOf(v.p, a), Message: fmt.Sprintf(
					"%s on rank %d %s, where peers write rows of the next call", at.Operation, rank, v.p.AccessName(a.Owner, a))})
			}
		}
	}
}

// exchanged returns the statement of an operation and the name of its exchange, if the operation is a copy or a launch
// in a kernel that exchanges rows. For other operations it returns nil and an empty name.
func (v *verification) exchanged(o *unroll.Op) (s calls.Stmt, of string) {
	if o.Stmt < 0 {
		return nil, ""
	}
	switch s := v.p.Stmts[o.Stmt].(type) {
	case *calls.Transfer:
		if s.On != (calls.Stream{}) {
			of = s.Batch
		}
	case *calls.Memcpy:
		if s.On != (calls.Stream{}) {
			of = s.Batch
		}
	case *calls.Launch:
		of = s.Batch
	}
	if of == "" {
		return nil, ""
	}
	return v.p.Stmts[o.Stmt], of
}

// exchange checks an operation of a kernel that exchanges rows against earlier copies of the kernel.
func (v *verification) exchange(rank, op int32, copies []int32) {
	r := &v.p.Ranks[rank]
	for _, a := range r.AccessesOf(&r.Ops[op]) {
		for _, i := range copies {
			if why := v.clashes(rank, i, a); why != "" {
				at := place(v.p, rank, op, 0)
				v.add(Finding{Check: Operands, Severity: Error, At: []Place{at}, Buffer: bytesOf(v.p, a),
					Message: fmt.Sprintf("%s on rank %d %s, %s", at.Operation, rank, v.p.AccessName(a.Owner, a), why)})
				break
			}
		}
	}
}

// clashes returns why an access of a kernel conflicts with operation op, an earlier copy of the same exchange; empty:
// it does not.
func (v *verification) clashes(rank, op int32, a unroll.Access) string {
	r := &v.p.Ranks[rank]
	for _, c := range r.AccessesOf(&r.Ops[op]) {
		switch {
		case c.Operand < 0 || c.Memory != a.Memory:
		case a.Write && c.Owner == rank && v.overlap(a, c):
			return "whose rows " + place(v.p, rank, op, 0).Operation + " may copy later"
		case !a.Write && c.Write && !v.samePart(a, c):
			return "of which other rows than its own may not be there"
		}
	}
	return ""
}

// overlap reports whether two accesses of one memory have bytes in common.
func (v *verification) overlap(a, b unroll.Access) bool {
	_, ok := unroll.Overlap(v.p.Layouts[a.Layout], v.p.Layouts[b.Layout], b.Offset-a.Offset)
	return ok
}

// samePart reports whether a read has the span of the own part and begins a whole number of parts away from it.
func (v *verification) samePart(read, own unroll.Access) bool {
	a, b := v.p.Layouts[read.Layout], v.p.Layouts[own.Layout]
	return b.Span > 0 && a.Span == b.Span && (read.Offset-own.Offset)%b.Span == 0
}
