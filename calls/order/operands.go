package order

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
)

// operand is memory that a statement may access: a number of bytes from a pointer on.
type operand struct {
	at    calls.Pointer
	bytes int64 // -1: any bytes of the buffer
	alike bool  // effects.Operand.Alike
}

// operandsOf lists the memory that a statement accesses. If effects.Table does not know the statement, it lists all
// pointers of the statement, each with any bytes of its buffer.
func (u *Uses) operandsOf(s calls.Stmt, rank *issue.Rank) (list []operand) {
	if known, err := u.effects.Of(s); err == nil && known != nil {
		for i := range known {
			list = append(list, operand{known[i].At, spanOf(&known[i], rank), known[i].Alike})
		}
		return list
	}
	if batch, ok := s.(*calls.MemOpBatch); ok && batch.Use == "memcpy" {
		for _, part := range batch.Body {
			list = append(list, u.operandsOf(part, rank)...)
		}
		return list
	}
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		list = append(list, operand{at, -1, false})
		return at
	}})
	return list
}

// spanOf returns the number of bytes from the beginning of an operand's first element to the end of its last. It
// returns -1 if the number is unknown, if there are no elements, or if a stride is negative.
func spanOf(o *effects.Operand, rank *issue.Rank) int64 {
	if o.Rest {
		return -1
	}
	elements := int64(1)
	for i, e := range o.Extents {
		n, known := rank.Value(nil, e)
		stride, ok := rank.Value(nil, o.Strides[i])
		if !known || !ok || stride < 0 || n <= 0 {
			return -1
		}
		elements += (n - 1) * stride
	}
	return elements * o.Type.Size()
}

// owned lists the memory of this rank that a statement releases to peers with a ready flag, or acquires again by a wait
// for a done flag.
func owned(p *calls.Program, s calls.Stmt) []string {
	var names []string
	add := func(share string) {
		for _, d := range p.Shares {
			if d.Name == share {
				names = append(names, d.Memory)
			}
		}
	}
	calls.Walk([]calls.Stmt{s}, func(s calls.Stmt) bool {
		switch s := s.(type) {
		case *calls.FlagWrite:
			if !s.Flag.Done {
				add(s.Flag.Share)
			}
		case *calls.FlagWait:
			if s.Flag.Done {
				add(s.Flag.Share)
			}
		}
		return true
	})
	return names
}
