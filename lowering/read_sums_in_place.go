package lowering

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// ReadSumsInPlace lets a sum over ranks read the parts of the others where they are, as
// sums: direct asks for: the sum waits for the loans itself, so nothing is copied and no memory
// is needed for the parts. Owners wait for the return of their loans at the end of the program: if
// they did so before their own sum, ranks would wait for each other.
//
// Requires: the sum of a pipeline follows its work loop and the joins; transfers and their waits
// stand where they were lowered; the own part is copied to the others.
// Establishes: with sums: direct, no part of such a sum is copied.
//
//	before: For s: (P_s = Matmul(A_s, B); If s == 0: (P_parts_s = Set(P_s))
//	          Else: (lend P_s, receive P_parts_s, Wait(send), Wait(receive)))
//	        C = Reduce(sum, P_parts, axis 0)
//	after:  For s: (P_s = Matmul(A_s, B); If s != 0: (lend P_s))
//	        P_own = Select(P, axis 1, index rank); C = SumLoans(P_own): For s in 1..D: (receive C)
//	        For s in 1..D: Wait(send)
func ReadSumsInPlace(p *hostir.Program) error {
	if p.Choices.Sums != "direct" {
		return nil
	}
	d := &directSums{motion: newMotion(p), filled: map[*hostir.Tensor]*summedParts{}}
	d.find()
	body := make([]hostir.Stmt, 0, len(p.Body))
	var returns []hostir.Stmt
	done := false
	for _, s := range p.Body {
		r, isReduce := s.(*hostir.Reduce)
		_, isDone := s.(*hostir.SumLoans)
		done = done || isDone
		if !isReduce || d.filled[r.In] == nil {
			body = append(body, s)
			continue
		}
		done = true
		if sum, waits := d.read(r, d.filled[r.In]); sum != nil {
			body, returns = append(body, sum...), append(returns, waits)
		}
	}
	if !done {
		d.refuse(d.nearest(), "sums: direct has no sum over ranks that can read the parts of its peers where they are").
			WithHint("it goes with pipeline: p2p and transport: ipc-get, without pieces, and a reduction over an axis DIDx that is not that of hosts")
	}
	body = append(body, returns...)
	p.Body = body
	d.forget()
	return d.errors.Err()
}

// read gives the sum that takes the place of r, and the waits of what it reads.
func (d *directSums) read(r *hostir.Reduce, f *summedParts) (sum []hostir.Stmt, returns *hostir.For) {
	own := d.ownPart(r, f)
	if own == nil {
		return nil, nil
	}
	d.into(r, f)
	send := d.exchanges[f.recv.Handle].Send
	d.ways[f.recv], d.ways[f.waits[send.Handle]] = borrowed, atTheEnd
	d.ways[f.own.set], d.ways[f.waits[f.recv.Handle]] = dropped, dropped
	loans := d.part(f.loop, borrowed)
	returns = d.part(f.loop, atTheEnd)
	d.leave(f.loop)
	returns.Note = "what was lent is not to change before the peers have read it"
	return []hostir.Stmt{own, &hostir.SumLoans{
		Info: hostir.InfoFrom(r, "the parts of the other ranks are read where they are"), Out: r.Out, In: own.Out, Body: []hostir.Stmt{loans},
	}}, returns
}

// forget takes the buffers of parts that nothing names any more out of the program.
func (d *directSums) forget() {
	named := map[*hostir.Tensor]bool{}
	hostir.Walk(d.program.Body, func(s hostir.Stmt) bool {
		if _, allocates := s.(*hostir.Allocate); !allocates {
			for _, t := range hostir.Mentions(s) {
				named[t] = true
			}
		}
		return true
	})
	gone := func(t *hostir.Tensor) bool { return d.filled[root(d.base, t)] != nil && !named[t] }
	d.program.Tensors = slices.DeleteFunc(d.program.Tensors, gone)
	d.program.Body = slices.DeleteFunc(d.program.Body, func(s hostir.Stmt) bool {
		made, ok := s.(*hostir.Allocate)
		return ok && gone(made.Tensor)
	})
}

func (d *directSums) refuse(pos diag.Pos, format string, args ...any) *diag.Diagnostic {
	return d.errors.Add(pos, diag.NotLowerable, format, args...)
}

// nearest is where a program reduces what peers sent, or else where it first sends anything, or
// does anything.
func (d *directSums) nearest() diag.Pos {
	var reduced, sent, done diag.Pos
	first := func(pos *diag.Pos, s hostir.Stmt, holds bool) {
		if holds && !pos.IsValid() {
			*pos = s.Meta().Pos
		}
	}
	received := map[*hostir.Tensor]bool{}
	hostir.Walk(d.program.Body, func(s hostir.Stmt) bool {
		if p, ok := s.(*hostir.P2PCommunication); ok && !p.Send {
			received[root(d.base, p.Buffer)] = true
		}
		r, isReduce := s.(*hostir.Reduce)
		first(&reduced, s, isReduce && received[r.In])
		first(&sent, s, isTransfer(s))
		first(&done, s, true)
		return true
	})
	return cmp.Or(reduced, sent, done)
}
