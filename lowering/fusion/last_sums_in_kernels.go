package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
)

// LastSumsInKernels lets the kernel after a ring add the last received part to the sum that the kernel reads (kernels:
// fused). This removes an add that reads the sum so far and the received part, and writes a sum that the kernel reads
// again. Up to three kernels may read the sum, and each of them then adds the part: together they access no more memory
// than before.
//
//	For s in D: ...; If s != 0: Wait(receive); C_s = Binary(add, C_s, P_sums_s)     with C_s = C if s == D - 1
//
//	Y = Binary(add, X, C)
//
// becomes
//
//	For s in D: ...; If s != 0: Wait(receive); If s != D - 1: C_s = Binary(add, C_s, P_sums_s)
//
//	Y = Fused(sum_add, C, P_sums_local, X): C_sum = add(C, P_sums_local), Y = add(X, C_sum)
//
// Requires: the last step of a ring adds in the buffer of the result, after the last part has been received.
// Establishes: the last step adds nothing if at most three kernels and no other statements read such a sum. The first
// of these kernels is directly after the ring, or after Allocates that follow the ring.
func LastSumsInKernels(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	names := hostir.NewNamer(p)
	for i, s := range p.Body {
		loop, ok := s.(*hostir.For)
		next := i + 1
		for next < len(p.Body) && hostir.Is[*hostir.Allocate](p.Body[next]) {
			next++
		}
		if !ok || next == len(p.Body) || !mayBeKernel(p.Body[next]) {
			continue
		}
		last := lastAdd(p, loop)
		if last == nil || !slices.Contains(hostir.Uses(p.Body[next]), last.sum) {
			continue
		}
		readers := last.readers(next)
		if len(readers) > mostAdding || usedBeside(p.Body, last, readers) {
			continue
		}
		came := last.lastCame(names)
		p.Tensors = append(p.Tensors, came)
		for _, at := range readers {
			p.Body[at] = added(names, []*hostir.Tensor{last.sum, came}, last.sum, p.Body[at])
		}
		last.leaveOut()
	}
	return nil
}

// ringAdd is the addition at the end of a step of a ring, which adds the received part to the step's sum.
type ringAdd struct {
	program *hostir.Program
	loop    *hostir.For
	in      *hostir.If
	add     *hostir.Binary
	at      expr.Expr      // the value of the loop variable in the last step
	sum     *hostir.Tensor // the buffer of the last sum
	came    *hostir.Select // selects the slice that contains the received part, also if sub-chunks divide the slice
}

// mostAdding is the largest number of kernels that may add the last received part. Each reads the part, and the removed
// add read two tensors and wrote one.
const mostAdding = 3

// readers lists the indices of statements after a ring that read its sum and may be kernels. It stops at a statement
// that overwrites the last received part.
func (r *ringAdd) readers(from int) (places []int) {
	for i := from; i < len(r.program.Body); i++ {
		s := r.program.Body[i]
		if i > from && writes(s, r.came.In) {
			break
		}
		if mayBeKernel(s) && slices.Contains(hostir.Uses(s), r.sum) {
			places = append(places, i)
		}
	}
	return places
}

// lastAdd returns the add of a ring whose last sum is in a separate buffer; nil if there is none.
func lastAdd(p *hostir.Program, loop *hostir.For) (found *ringAdd) {
	behindFirst := expr.Op("!=", expr.Var(loop.Var), expr.Int(0)).String()
	for s := range hostir.All(loop.Body) {
		in, ok := s.(*hostir.If)
		if !ok || found != nil || len(in.Body) == 0 || len(in.Else) > 0 || in.Cond.String() != behindFirst {
			continue
		}
		if add, ok := in.Body[len(in.Body)-1].(*hostir.Binary); ok && add.Fn == "add" && add.Out == add.A {
			found = ringAddOf(p, loop, in, add)
		}
	}
	return found
}

// ringAddOf returns an add to a view that is a Temp in the last step, and a slice of another buffer in the other steps.
// It returns nil for other adds.
func ringAddOf(p *hostir.Program, loop *hostir.For, in *hostir.If, add *hostir.Binary) *ringAdd {
	either, ok := add.Out.Of.(*hostir.Either)
	if !ok {
		return nil
	}
	cond, ok := either.Cond.(*expr.Binary)
	if !ok || cond.Op != "==" || cond.X.String() != loop.Var || loop.Count.Size == 1 { // a single rank receives nothing
		return nil
	}
	came, sums := sliceOf(add.B), hostir.Buffers(either.Then)
	if came == nil || len(sums) != 1 || sums[0].Role != hostir.Temp || sums[0].DType != add.B.DType {
		return nil
	}
	return &ringAdd{p, loop, in, add, cond.Y, sums[0], came}
}

// sliceOf returns the Select of a view that is one slice of a Temp. For a sub-chunk of a slice, it returns the Select
// of the slice. It returns nil for other views.
func sliceOf(view *hostir.Tensor) *hostir.Select {
	of, ok := view.Of.(*hostir.Select)
	if ok && of.Parts > 0 && of.In.Of != nil {
		of, ok = of.In.Of.(*hostir.Select)
	}
	if !ok || of.Parts > 0 || of.In.Role != hostir.Temp {
		return nil
	}
	return of
}

// usedBeside reports whether statements other than the readers use the buffer of a sum. Allocations, and the view
// through which the steps of the ring write to the buffer, do not count.
func usedBeside(body []hostir.Stmt, last *ringAdd, readers []int) bool {
	return hostir.Any(body, func(s hostir.Stmt) bool {
		if hostir.Is[*hostir.Allocate](s) || slices.ContainsFunc(readers, func(at int) bool { return body[at] == s }) {
			return false
		}
		return slices.ContainsFunc(hostir.Mentions(s), func(t *hostir.Tensor) bool {
			return t != last.add.Out && slices.Contains(hostir.Buffers(t), last.sum)
		})
	})
}

// lastCame returns a new view of the last received part.
func (r *ringAdd) lastCame(names *hostir.Namer) *hostir.Tensor {
	view := *r.came.Out
	view.Name = names.Fresh(r.came.In.Name + "_local")
	of := *r.came
	of.Out, of.Info = &view, hostir.InfoFrom(&of, "")
	of.Index = r.index()
	view.Of = &of
	return &view
}

// index returns the index of the slice that the last step receives. If the index equals a mesh coordinate on all ranks,
// it returns the expression for the coordinate.
func (r *ringAdd) index() expr.Expr {
	index, mesh := expr.Substitute(r.came.Index, map[string]expr.Expr{r.loop.Var: r.at}), r.came.In.Mesh
	for _, a := range mesh.Axes {
		coordinate := ranks.Along(mesh, a.Name).Coordinate
		differs := func(rank int) bool {
			env := hostir.NewIssue(r.program, rank, nil).Env
			value := func(name string) (int64, bool) { v, ok := env[name]; return v, ok }
			x, err := expr.Eval(index, value)
			y, other := expr.Eval(coordinate, value)
			return err != nil || other != nil || x != y
		}
		if !slices.ContainsFunc(mesh.Ranks, differs) {
			return coordinate
		}
	}
	return index
}

// leaveOut removes the add from the last step. With two steps it removes the add altogether, because the first step
// adds nothing.
func (r *ringAdd) leaveOut() {
	others := r.in.Body[:len(r.in.Body)-1]
	if r.loop.Count.Size > 2 {
		others = append(others, &hostir.If{Info: hostir.InfoFrom(r.add, "what comes in last the kernel behind the ring adds"),
			Cond: expr.Op("!=", expr.Var(r.loop.Var), r.at), Body: []hostir.Stmt{r.add}})
	}
	r.in.Body = others
	if len(others) == 0 {
		r.loop.Body = hostir.Rewrite(r.loop.Body, func(s hostir.Stmt) []hostir.Stmt {
			if s == hostir.Stmt(r.in) {
				return nil
			}
			return []hostir.Stmt{s}
		})
	}
}
