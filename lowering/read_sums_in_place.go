package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// ReadSumsInPlace lets a sum over ranks read the parts of the others where they are, as
// sums: direct asks for: the sum waits for the loans itself, so nothing is copied and no memory
// is needed for the parts. Owners wait at the end of the program, since what makes a rank sum
// earlier than its peers is not to be waited for.
//
// Requires: the sum of a pipeline follows its work loop and, over CUDA IPC, the joins; the own
// part is copied to the others.
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
		d.refuse(firstPos(p.Body), "no sum over ranks can read the parts of its peers here").
			WithHint("sums: direct goes with pipeline: p2p and transport: ipc-get, without pieces, and a reduction over an axis DIDx")
	}
	p.Body = append(body, returns...)
	d.forget()
	return d.errors.Err()
}

// directSums finds the sums to be read in place.
type directSums struct {
	*motion
	filled map[*hostir.Tensor]*summedParts
	errors diag.List
}

// summedParts is the buffer of the parts of one sum, and what fills it.
type summedParts struct {
	loop  *hostir.For
	recv  *hostir.P2PCommunication
	piece *hostir.Select // of what the receive fills
	own   ownCopy
	waits map[string]*hostir.Wait
}

// ownCopy copies the own part to the others.
type ownCopy struct {
	set      *hostir.Set
	from, to *hostir.Select // that take the two sides from their buffers; nil where none does
}

// find looks for buffers that receives over IPC-get fill in a loop of the program.
func (d *directSums) find() {
	for _, s := range d.program.Body {
		loop, ok := s.(*hostir.For)
		if !ok {
			continue
		}
		var own []ownCopy
		waits := map[string]*hostir.Wait{}
		hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
			switch s := s.(type) {
			case *hostir.Select:
				d.selects[s.Out] = s
			case *hostir.Set:
				own = append(own, ownCopy{s, d.outermost(s.In), d.outermost(s.Out)})
			case *hostir.Wait:
				waits[s.Handle] = s
			case *hostir.P2PCommunication:
				if into := root(d.base, s.Buffer); s.Backend == hostir.IPCGet && s.Reach == hostir.Anywhere && !s.Send && into.Role == hostir.Temp {
					d.filled[into] = &summedParts{loop: loop, recv: s, piece: d.selects[s.Buffer], waits: waits}
				}
			}
			return true
		})
		for _, s := range own {
			if f := d.filled[root(d.base, s.set.Out)]; f != nil {
				f.own = s
			}
		}
	}
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
	loans := d.take(f.loop, borrowed)
	returns = d.take(f.loop, atTheEnd)
	d.take(f.loop, dropped)
	d.tidy(f.loop)
	d.turn(f.loop)
	d.narrow(f.loop)
	returns.Note = "what was lent is not to change before the peers have read it"
	return []hostir.Stmt{own, &hostir.SumLoans{
		Info: info(r, "the parts of the other ranks are read where they are"), Out: r.Out, In: own.Out, Body: []hostir.Stmt{loans},
	}}, returns
}

// turn puts the other side of a branch first where nothing is left to do on the first one.
func (d *directSums) turn(loop *hostir.For) {
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if branch, ok := s.(*hostir.If); ok && len(branch.Else) > 0 && d.namesOnly(branch.Body, branch, loop) {
			branch.Cond, branch.Body, branch.Else = opposite(branch.Cond), branch.Else, nil
		}
		return true
	})
}

// ownPart names the rank's own part of a sum, where it was made; nil, with an error, where a sum
// cannot read what it has to.
func (d *directSums) ownPart(r *hostir.Reduce, f *summedParts) *hostir.Select {
	switch {
	case r.Fn != "sum":
		d.refuse(r.Pos, "sums: direct adds, and does not reduce by %q", r.Fn).WithHint("choose sums: added")
		return nil
	case r.In.DType != r.Out.DType:
		d.refuse(r.Pos, "sums: direct does not make %s of %s", r.Out.DType, r.In.DType).WithHint("choose sums: added")
		return nil
	}
	from := f.own.from
	if from == nil || from.Parts != 0 {
		d.refuse(r.Pos, "the parts of this sum are views that are made slice by slice").WithHint("choose sums: added")
		return nil
	}
	view := *from.Out
	view.Name = d.names.fresh(from.In.Name + "_own")
	if !liesLike(&view, r.Out) {
		d.refuse(r.Pos, "a part of the sum does not lie in memory as %s does", r.Out.Name).WithHint("choose sums: added")
		return nil
	}
	d.program.Tensors = append(d.program.Tensors, &view)
	return &hostir.Select{Info: info(r, ""), Out: &view, In: from.In, Axis: from.Axis, Index: f.own.to.Index}
}

// outermost is the Select that takes a view, or what it is a view of, from memory that is named
// outside of the loop.
func (d *directSums) outermost(t *hostir.Tensor) *hostir.Select {
	sel := d.selects[t]
	for sel != nil && d.selects[sel.In] != nil {
		sel = d.selects[sel.In]
	}
	return sel
}

// into lets a receive go to the result of a sum, or to the piece of it that it received.
func (d *directSums) into(r *hostir.Reduce, f *summedParts) {
	piece, recv := f.piece, f.recv
	recv.Buffer = r.Out
	if piece.Parts == 0 {
		return
	}
	along := piece.Axis
	if along >= r.Axis {
		along++ // of all parts
	}
	axis := hostir.AxisMap(r)[0][along]
	view := *r.Out
	view.Name, view.Role, view.Axes = d.names.fresh(r.Out.Name+"_piece"), hostir.View, slices.Clone(r.Out.Axes)
	view.Axes[axis].Extent = piece.Out.Axes[piece.Axis].Extent
	d.program.Tensors = append(d.program.Tensors, &view)
	d.selects[&view] = &hostir.Select{Info: info(r, ""), Out: &view, In: r.Out, Axis: axis, Index: piece.Index, Parts: piece.Parts}
	recv.Buffer = &view
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

// liesLike reports whether two tensors have the same elements in the same order in memory.
func liesLike(t, other *hostir.Tensor) bool {
	return slices.Equal(memoryOrder(t), memoryOrder(other))
}

// memoryOrder lists the axes of a rank's buffer that have several elements, outermost first: each
// with its place among the axes that the buffer has, and its extent.
func memoryOrder(t *hostir.Tensor) [][2]int64 {
	live := hostir.Live(t)
	var list [][2]int64
	for _, axis := range layout(t) {
		if at := slices.Index(live, axis); at >= 0 && t.Axes[axis].LocalSize() > 1 {
			list = append(list, [2]int64{int64(at), t.Axes[axis].LocalSize()})
		}
	}
	return list
}

// firstPos is where the first statement that moves data comes from.
func firstPos(body []hostir.Stmt) diag.Pos {
	var pos diag.Pos
	hostir.Walk(body, func(s hostir.Stmt) bool {
		if isTransfer(s) && !pos.IsValid() {
			pos = s.Meta().Pos
		}
		return !pos.IsValid()
	})
	if !pos.IsValid() && len(body) > 0 {
		pos = body[len(body)-1].Meta().Pos
	}
	return pos
}
