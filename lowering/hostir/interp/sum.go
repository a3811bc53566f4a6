package interp

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// borrowed is what one loan is to a sum: the elements of the result that it adds to, or takes.
type borrowed struct {
	rank int   // that lends
	of   *view // the result, or a part of it
	loan *loan // nil for the part of the rank that sums
}

// sumLoans issues one task that waits for all loans of the body, adds what they lend or stores the
// sum there, and is the signal that all of it was read and written.
func (r *rank) sumLoans(s *hostir.SumLoans) error {
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
	r.borrows = []borrowed{{rank: r.number, of: out}}
	err = r.block(s.Body)
	list := r.borrows
	r.borrows = nil
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b borrowed) int { return cmp.Compare(a.rank, b.rank) })
	sum := r.issue(r.current, s, func() error { return r.sum(s, out, views[0], list) })
	r.machine.notes[sum].touches = r.touches(s, views, out)
	for _, b := range list {
		if b.loan != nil {
			b.loan.copied, b.loan.needLent = sum, append(b.loan.needLent, sum)
		}
	}
	return nil
}

// borrow notes that the sum at hand reads or writes what a peer lends.
func (r *rank) borrow(p *part, l *loan) {
	l.copier = p
	r.borrows = append(r.borrows, borrowed{p.peer(), p.in[0], l})
}

// sum adds the parts in their order, in fp32, and rounds once.
func (r *rank) sum(s *hostir.SumLoans, out, own *view, parts []borrowed) error {
	result, ok := out.contiguous()
	if !ok {
		return r.fail(s, "the result is not contiguous")
	}
	values := make([]float64, len(result))
	for _, b := range parts {
		if b.stores() {
			continue
		}
		from := own
		if b.loan != nil {
			from = b.loan.owner.in[0]
		}
		part, ok := from.contiguous()
		if !ok || b.of.Offset+int64(len(part)) > out.Offset+int64(len(result)) {
			return r.fail(s, "a part is not contiguous, or reaches behind the result")
		}
		for i, x := range part {
			at := b.of.Offset - out.Offset + int64(i)
			values[at] = float64(float32(values[at] + x))
		}
	}
	for i, x := range values {
		result[i] = s.Out.DType.Round(x)
	}
	for _, b := range parts {
		if b.stores() {
			if err := b.loan.move(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stores reports whether the sum goes to what is lent, and does not come from there.
func (b borrowed) stores() bool { return b.loan != nil && b.loan.puts }
