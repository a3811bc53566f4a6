package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/unroll"
)

// exchanges checks what the other checks cannot see of a kernel that exchanges rows. They look at its statements one after the other, and
// the kernel runs them row by row. So a row of the results may be stored while other rows are still sent, and nothing but the same row
// of all parts is there when a row is computed.
func (v *verification) exchanges() {
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		var copies []int32 // of the kernel so far
		for i := range r.Ops {
			switch s := v.statement(&r.Ops[i]).(type) {
			case *calls.Transfer:
				if s.Batch != "" {
					copies = append(copies, int32(i))
				}
			case *calls.Memcpy:
				if s.Batch != "" {
					copies = append(copies, int32(i))
				}
			case *calls.Launch:
				if s.Batch != "" {
					v.exchange(int32(n), int32(i), copies, s.Batch)
					copies = nil
				}
			}
		}
	}
}

// statement returns the statement of an operation, or nil.
func (v *verification) statement(o *unroll.Op) calls.Stmt {
	if o.Stmt < 0 {
		return nil
	}
	return v.p.Stmts[o.Stmt]
}

// exchange checks the kernel that operation op of a rank launches.
func (v *verification) exchange(rank, op int32, copies []int32, batch string) {
	r := &v.p.Ranks[rank]
	complain := func(a unroll.Access, format string, args ...any) {
		at := place(v.p, rank, op, 0)
		v.add(Finding{Check: Operands, Severity: Error, At: []Place{at}, Buffer: bytesOf(v.p, a),
			Message: fmt.Sprintf("%s on rank %d ", at.Operation, rank) + fmt.Sprintf(format, args...)})
	}
	for _, a := range r.AccessesOf(&r.Ops[op]) {
		for _, i := range copies {
			for _, c := range r.AccessesOf(&r.Ops[i]) {
				switch {
				case c.Operand < 0 || c.Owner != rank || c.Memory != a.Memory || !batchIs(v.statement(&r.Ops[i]), batch):
				case a.Write && v.overlap(a, c):
					complain(a, "writes %s, whose rows %s may copy later", v.p.AccessName(a.Owner, a), place(v.p, rank, i, 0).Operation)
				case !a.Write && c.Write && !v.samePart(a, c):
					complain(a, "reads %s, of which other rows than its own may not be there", v.p.AccessName(a.Owner, a))
				}
			}
		}
	}
}

// batchIs reports whether a copy is part of an exchange.
func batchIs(s calls.Stmt, batch string) bool {
	switch s := s.(type) {
	case *calls.Transfer:
		return s.Batch == batch
	case *calls.Memcpy:
		return s.Batch == batch
	}
	return false
}

// overlap reports whether two accesses of one memory have bytes in common.
func (v *verification) overlap(a, b unroll.Access) bool {
	_, ok := unroll.Overlap(v.p.Layouts[a.Layout], v.p.Layouts[b.Layout], b.Offset-a.Offset)
	return ok
}

// samePart reports whether a kernel reads a part that lies in memory as the own part does: dense, and a number of whole parts away.
func (v *verification) samePart(read, own unroll.Access) bool {
	a, b := v.p.Layouts[read.Layout], v.p.Layouts[own.Layout]
	return b.Span > 0 && a.Span == b.Span && (read.Offset-own.Offset)%b.Span == 0
}
