package interp

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// peerPart is one access of a PeerReadSum: a partial sum that it adds, or a peer's buffer in which it stores the
// result.
type peerPart struct {
	rank     int          // the owner of the partial sum or buffer
	of       *view        // the elements of the result that it adds to, or stores
	transfer *ipcTransfer // nil for the partial sum of the rank that runs the statement
}

// peerReadSum issues one task. The task waits for all ready flags of the body, adds the peers' elements, stores the sum in
// memory of peers that receive it, and sets the done flags.
func (r *rank) peerReadSum(s *hostir.PeerReadSum) error {
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
	r.peerParts = []peerPart{{rank: r.number, of: out}}
	err = r.List(s.Body)
	list := r.peerParts
	r.peerParts = nil
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b peerPart) int { return cmp.Compare(a.rank, b.rank) })
	sum := r.issue(r.current, s, func() error { return r.sum(s, out, views[0], list) })
	r.machine.notes[sum].touches = r.touches(s, views, out)
	for _, b := range list {
		if b.transfer != nil {
			b.transfer.done, b.transfer.needReady = sum, append(b.transfer.needReady, sum)
		}
	}
	return nil
}

// accessPeer records that the current PeerReadSum reads or writes memory of a peer.
func (r *rank) accessPeer(p *part, l *ipcTransfer) {
	l.copier = p
	r.peerParts = append(r.peerParts, peerPart{p.peer(), p.in[0], l})
}

// sum adds the partial sums in the order of parts, in fp32, and rounds the result once to its element type. Then it
// stores the result in the memory of peers.
func (r *rank) sum(s *hostir.PeerReadSum, out, own *view, parts []peerPart) error {
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
		if b.transfer != nil {
			from = b.transfer.owner.in[0]
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
			if err := b.transfer.move(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stores reports whether the transfer stores the sum in memory of a peer. Otherwise it reads a partial sum.
func (b peerPart) stores() bool { return b.transfer != nil && b.transfer.puts }
