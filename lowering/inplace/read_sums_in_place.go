package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// ReadSumsInPlace lets a sum over ranks read the partial sums of the other ranks in place (fuse: peer-read). The sum
// itself waits for the ready flags. So no part is copied, and the parts need no memory. The ranks that own the parts
// wait for the done flags at the end of the program. If they waited before their local sum, ranks would wait for each
// other.
//
// Requires: the sum of a pipeline follows its loop; transfers and their waits are where they were lowered; the local
// partial sum is copied into the buffer of the parts.
//
//	before: For s: (P_s = Matmul(A_s, B); If s == 0: (P_parts_s = Set(P_s))
//	          Else: (send P_s, receive P_parts_s, Wait(send), Wait(receive)))
//	        C = Reduce(sum, P_parts, axis 0)
//
//	after:  For s: (P_s = Matmul(A_s, B); If s != 0: (send P_s))
//	        C = PeerReadSum(P_local): For s in 1..D: (receive C)
//	        For s in 1..D: Wait(send)
func ReadSumsInPlace(p *hostir.Program) error {
	if !p.Choices.Any(schedule.Fuse, schedule.PeerRead) {
		return nil
	}
	d := &peerReads{motion: newMotion(p), moves: hostir.Communications(p), filled: map[*hostir.Tensor]*summedParts{}}
	d.find()
	body := make([]hostir.Stmt, 0, len(p.Body))
	var doneWaits []hostir.Stmt
	done := false
	for _, s := range p.Body {
		r, isReduce := s.(*hostir.Reduce)
		done = done || hostir.Is[*hostir.PeerReadSum](s)
		if !isReduce || d.filled[r.In] == nil || p.Choices.Of(d.moves(r), schedule.Fuse) != schedule.PeerRead {
			body = append(body, s)
			continue
		}
		done = true
		if sum, waits := d.read(r, d.filled[r.In]); sum != nil {
			body, doneWaits = append(body, sum...), append(doneWaits, waits)
		}
	}
	if !done && !hostir.HasSingleRanks(p) {
		d.refuse(firstWork(p.Body), "no sum over ranks can read the parts of its peers in place")
	}
	body = append(body, doneWaits...)
	p.Body = body
	d.forget()
	return d.errors.Err()
}

// firstWork returns the first statement that reads a tensor, or nil.
func firstWork(body []hostir.Stmt) hostir.Stmt {
	for s := range hostir.All(body) {
		if len(hostir.Uses(s)) > 0 {
			return s
		}
	}
	return nil
}

// read returns the sum that replaces r, and the waits for the peers that read its local part. It returns nil after
// localPart has reported an error.
func (d *peerReads) read(r *hostir.Reduce, f *summedParts) (sum []hostir.Stmt, doneWaits *hostir.For) {
	local := d.localPart(r, f)
	if local == nil {
		return nil, nil
	}
	d.into(r, f)
	send := d.exchanges[f.recv.Handle].Send
	d.ways[f.recv], d.ways[f.waits[send.Handle]] = inSum, atTheEnd
	d.ways[f.local.set], d.ways[f.waits[f.recv.Handle]] = dropped, dropped
	reads := d.part(f.loop, inSum)
	doneWaits = d.part(f.loop, atTheEnd)
	d.leave(f.loop)
	doneWaits.Note = "the buffer is not to change before the peers have read it"
	return []hostir.Stmt{&hostir.PeerReadSum{
		Info: hostir.InfoFrom(r, "the partial sums of the other ranks are read in place"), Out: r.Out, In: local, Body: []hostir.Stmt{reads},
	}}, doneWaits
}

// forget removes the buffers of parts, and views of them, that no statement names.
func (d *peerReads) forget() {
	named := map[*hostir.Tensor]bool{}
	for s := range hostir.All(d.program.Body) {
		if !hostir.Is[*hostir.Allocate](s) {
			lists.Mark(named, hostir.Mentions(s))
			hostir.Views(s, func(t *hostir.Tensor) { named[t] = true })
		}
	}
	gone := func(t *hostir.Tensor) bool { return d.filled[root(t)] != nil && !named[t] }
	d.program.Tensors = slices.DeleteFunc(d.program.Tensors, gone)
	d.program.Body = slices.DeleteFunc(d.program.Body, func(s hostir.Stmt) bool {
		made, ok := s.(*hostir.Allocate)
		return ok && gone(made.Tensor)
	})
}

// refuse reports that a sum cannot read its parts in place.
func (d *peerReads) refuse(s hostir.Stmt, format string, args ...any) {
	hostir.Refuse(&d.errors, d.program, s, d.moves(s), schedule.Fuse, format, args...).WithHint("choose fuse: none")
}
