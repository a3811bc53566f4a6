package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// WriteSumsInPlace lets a sum that reads the parts of its peers in place (fuse: peer-read) also write its result to the
// buffers where peers gather it. Peers set the ready flags of their slices before the sum, and no copies follow the
// sum. The copies stay if the sum is not made in place in the gathered buffer, or if a slice is not exchanged over
// IPC-get.
//
// Requires: sums are read in place; transfers and their waits are where they were lowered.
// Establishes: with fuse: peer-read, no slice of a sum that is made in place in the gathered buffer is copied over
// IPC-get.
//
//	before: R = PeerReadSum(P_local): For s in 1..D: (receive R)
//	        For s in 1..D: send R over IPC-get; receive C_s; both waits
//
//	after:  For s in 1..D: receive C_s over IPC-put
//	        R = PeerReadSum(P_local): For s in 1..D: (receive R); For s in 1..D: (send R)
//	        For s in 1..D: Wait(receive)
func WriteSumsInPlace(p *hostir.Program) error {
	if !p.Choices.Any(schedule.Fuse, schedule.PeerRead) {
		return nil
	}
	w := &sumWriter{motion: newMotion(p), sums: map[*hostir.Tensor]*hostir.PeerReadSum{}}
	for _, s := range p.Body {
		w.body = append(w.body, s)
		switch s := s.(type) {
		case *hostir.PeerReadSum:
			w.sums[s.Out] = s
		case *hostir.For:
			w.gather(s)
		}
	}
	p.Body = w.body
	return nil
}

// sumWriter finds loops that gather sums.
type sumWriter struct {
	*motion
	sums map[*hostir.Tensor]*hostir.PeerReadSum // by their result
	body []hostir.Stmt                          // the program up to the current statement
}

// gather moves the exchanges of a loop that gather sums into the sums.
func (w *sumWriter) gather(loop *hostir.For) {
	waits := map[string]*hostir.Wait{}
	var sends []*hostir.P2PCommunication
	for s := range hostir.All(loop.Body) {
		switch s := s.(type) {
		case *hostir.Wait:
			waits[s.Handle] = s
		case *hostir.P2PCommunication:
			if s.Send && s.Backend == hostir.IPCGet && s.Locality == hostir.AnyNode {
				sends = append(sends, s)
			}
		}
	}
	for _, send := range sends {
		e := w.exchanges[send.Handle]
		sum := w.sums[root(send.Buffer)]
		if sum != nil && waits[send.Handle] != nil && waits[e.Recv.Handle] != nil && isShardOf(sum.Out, root(e.Recv.Buffer)) {
			w.write(loop, sum, e, waits[send.Handle])
		}
	}
}

// isShardOf reports whether local is the local shard of all, a buffer of all slices.
func isShardOf(local, all *hostir.Tensor) bool {
	sel, ok := local.Of.(*hostir.Select)
	return ok && sel.Owns() && root(sel.In) == all
}

// write moves the send of an exchange from a loop into the sum, over IPC-put, and the receive before the sum.
func (w *sumWriter) write(loop *hostir.For, sum *hostir.PeerReadSum, e *hostir.Exchange, sent *hostir.Wait) {
	e.Send.Backend, e.Recv.Backend = hostir.IPCPut, hostir.IPCPut
	w.ways[e.Shared], w.ways[e.Recv], w.ways[e.Send], w.ways[sent] = ahead, ahead, inSum, dropped
	receives, sends := w.part(loop, ahead), w.part(loop, inSum)
	receives.Note = "peers write their sums here"
	sum.Body = append(sum.Body, sends)
	sum.Note = "the partial sums of the other ranks are read in place, and the sum is written where the others need it"
	at := slices.Index(w.body, hostir.Stmt(sum))
	w.body = slices.Insert(w.body, at, hostir.Stmt(receives))
	w.leave(loop)
}
