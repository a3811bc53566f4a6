package hostir

import (
	"cmp"
	"slices"
)

// borrowed is what one loan adds to a sum: the elements of the result that it covers.
type borrowed struct {
	rank int // that lends
	into *view
	loan *loan // nil for the part of the rank that sums
}

// sumLoans issues one task that waits for all loans of the body, adds what they lend, and is the
// signal that all of it was read.
func (r *rank) sumLoans(s *SumLoans) error {
	if !r.holds(s.Out) {
		return nil
	}
	views, err := r.operands(s)
	if err != nil {
		return err
	}
	out, err := r.view(s, s.Out)
	if err != nil {
		return err
	}
	r.borrows = []borrowed{{rank: r.number, into: out}}
	err = r.block(s.Body)
	list := r.borrows
	r.borrows = nil
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b borrowed) int { return cmp.Compare(a.rank, b.rank) })
	sum := r.issue(r.current, s, func() error { return r.sum(s, out, views[0], list) })
	for _, b := range list {
		if b.loan != nil {
			b.loan.copied, b.loan.needLent = sum, append(b.loan.needLent, sum)
		}
	}
	return nil
}

// borrow notes that the sum at hand reads what a peer lends.
func (r *rank) borrow(p *part, l *loan) {
	l.copier = p
	r.borrows = append(r.borrows, borrowed{p.peer(), p.in[0], l})
}

// sum adds the parts in their order, in fp32, and rounds once.
func (r *rank) sum(s *SumLoans, out, own *view, parts []borrowed) error {
	result, ok := out.contiguous()
	if !ok {
		return r.fail(s, "the result is not contiguous")
	}
	values := make([]float64, len(result))
	for _, b := range parts {
		from := own
		if b.loan != nil {
			from = b.loan.owner.in[0]
		}
		part, ok := from.contiguous()
		if !ok || b.into.offset+int64(len(part)) > out.offset+int64(len(result)) {
			return r.fail(s, "a part is not contiguous, or reaches behind the result")
		}
		for i, x := range part {
			at := b.into.offset - out.offset + int64(i)
			values[at] = float64(float32(values[at] + x))
		}
	}
	for i, x := range values {
		result[i] = s.Out.DType.Round(x)
	}
	return nil
}
