package fusion

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// mostParts is how many parts a kernel adds up. It has a pointer for each, and more of them win little: the sum is a smaller
// share of what the kernel reads the more there are.
const mostParts = 4

// SumsInKernels lets a kernel add up the parts of a sum that it reads (kernels: fused):
//
//	C = Reduce(sum, P_parts, axis 0)      Y = Fused(sum_add, P_parts_0, P_parts_1, X): C = add(P_parts_0, P_parts_1), Y = add(C, X)
//	Y = Binary(add, C, X)
//
// Several kernels add them up each, where they then read no more than there was to read and write. Otherwise the
// first one stores the sum for the others.
//
// Requires: parts of a sum over ranks are in one buffer, one behind the other, when the sum is taken.
// Establishes: such a sum is written by a kernel that reads it, or neither written nor read, unless its parts are written again
// before it is read.
func SumsInKernels(p *hostir.Program) error {
	if p.Choices.Get(schedule.Kernels) != schedule.Fused {
		return nil
	}
	s := &partSums{program: p, names: hostir.NewNamer(p), readers: map[*hostir.Tensor]int{}, gone: map[*hostir.Tensor]bool{}}
	hostir.Walk(p.Body, func(stmt hostir.Stmt) bool {
		for _, t := range hostir.Uses(stmt) {
			s.readers[t]++
		}
		hostir.Views(stmt, func(view *hostir.Tensor) {
			for _, t := range hostir.Uses(view.Of) {
				s.readers[t]++
			}
		})
		return true
	})
	p.Body = hostir.RewriteBlocks(p.Body, s.block)
	p.Body = hostir.Rewrite(p.Body, func(stmt hostir.Stmt) []hostir.Stmt {
		if a, ok := stmt.(*hostir.Allocate); ok && s.gone[a.Tensor] {
			return nil
		}
		return []hostir.Stmt{stmt}
	})
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return s.gone[t] })
	return nil
}

type partSums struct {
	program *hostir.Program
	names   *hostir.Namer
	readers map[*hostir.Tensor]int // statements and views, each time that they name a tensor
	gone    map[*hostir.Tensor]bool
}

// block gives the statements of a list, with sums in the kernels behind them.
func (s *partSums) block(body []hostir.Stmt) []hostir.Stmt {
	out := slices.Clone(body)
	for i := 0; i < len(out); i++ {
		sum, ok := out[i].(*hostir.Reduce)
		if !ok || !s.hasParts(sum) {
			continue
		}
		readers := readersOf(out, i, sum)
		all := s.all(out, readers, sum)
		switch {
		case len(readers) == 0 || !all && !mayStore(out[readers[0]], sum.Out):
			continue
		case all:
			s.gone[sum.Out] = true
		default:
			readers = readers[:1]
		}
		var parts []*hostir.Tensor
		for part := range sum.In.Axes[sum.Axis].LocalSize() {
			parts = append(parts, s.part(sum, part))
		}
		for _, at := range readers {
			k := added(s.names, parts, sum.Out, out[at])
			if !all {
				k.Out, k.Body[len(parts)-2].Also = slices.Insert(slices.Clone(k.Out), 1, sum.Out), true
			}
			out[at] = k
		}
		out = slices.Delete(out, i, i+1)
		i--
	}
	return out
}

// readersOf are the places of the statements behind a sum that read it, as long as its parts are what it was taken of.
func readersOf(body []hostir.Stmt, at int, sum *hostir.Reduce) (places []int) {
	for i := at + 1; i < len(body); i++ {
		if writes(body[i], sum.In) {
			break
		}
		if reads(body[i], sum.Out) {
			places = append(places, i)
		}
	}
	return places
}

// reads reports whether a statement, or one in it, reads the buffer that a tensor is in, at times through a view.
func reads(stmt hostir.Stmt, t *hostir.Tensor) bool { return touches(stmt, t, hostir.Uses) }

// writes reports whether a statement, or one in it, writes to the buffer that a tensor is in.
func writes(stmt hostir.Stmt, t *hostir.Tensor) bool { return touches(stmt, t, hostir.Defs) }

// touches reports whether a list of a statement, or of one in it, names a tensor in the same buffer as t.
func touches(stmt hostir.Stmt, t *hostir.Tensor, list func(hostir.Stmt) []*hostir.Tensor) bool {
	of := hostir.Buffers(t)
	return hostir.Any([]hostir.Stmt{stmt}, func(inner hostir.Stmt) bool {
		return slices.ContainsFunc(list(inner), func(named *hostir.Tensor) bool {
			return slices.ContainsFunc(hostir.Buffers(named), func(b *hostir.Tensor) bool { return slices.Contains(of, b) })
		})
	})
}

// hasParts reports whether a sum is over few parts of a rank that lie one behind the other, into a buffer of its own.
func (s *partSums) hasParts(r *hostir.Reduce) bool {
	a := r.In.Axes[r.Axis]
	return r.Fn == "sum" && r.Out.Role == hostir.Temp && !hostir.MayMove(r) && (a.Kind == domain.Serial || a.Kind == domain.Stream) && a.LocalSize() > 1 && a.LocalSize() <= mostParts &&
		hostir.Outside(r.In, r.Axis) < 0 && hasRows(r.In) && len(hostir.Live(r.Out)) > 0
}

// all reports whether some statements are all that read a sum and may be kernels, and read no more, with its parts in its
// place, than there was to read and write for it.
func (s *partSums) all(body []hostir.Stmt, readers []int, sum *hostir.Reduce) bool {
	named, parts := 0, int(sum.In.Axes[sum.Axis].LocalSize())
	for _, at := range readers {
		if !mayBeKernel(body[at]) {
			return false
		}
		for _, u := range hostir.Uses(body[at]) {
			if u == sum.Out {
				named++
			}
		}
	}
	return named > 0 && named == s.readers[sum.Out] && len(readers)*parts <= parts+1+len(readers)
}

// mayStore reports whether a statement may be a kernel that also makes a sum which it reads, and through no view.
func mayStore(reader hostir.Stmt, sum *hostir.Tensor) bool {
	viewed := func(t *hostir.Tensor) bool { return t != sum && slices.Contains(hostir.Buffers(t), sum) }
	if !mayBeKernel(reader) || !slices.Contains(hostir.Uses(reader), sum) || slices.ContainsFunc(hostir.Uses(reader), viewed) {
		return false
	}
	k := asKernel(reader)
	return !k.FoldsRows() && !k.FoldsColumns() && k.Parts() == 1 && k.Out[0].Mesh == sum.Mesh && hostir.SameAxes(k.Out[0], sum)
}

// part is a view of one part of a sum.
func (s *partSums) part(sum *hostir.Reduce, i int64) *hostir.Tensor {
	in := sum.In
	view := &hostir.Tensor{
		Name: s.names.Fresh(fmt.Sprintf("%s_%d", in.Name, i)), DType: in.DType, Mesh: in.Mesh, Role: hostir.View,
		Axes: slices.Delete(slices.Clone(in.Axes), sum.Axis, sum.Axis+1), Layout: hostir.DropAxis(in.Layout, sum.Axis), Pos: in.Pos,
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(sum, ""), Out: view, In: in, Axis: sum.Axis, Index: expr.Int(i)}
	s.program.Tensors = append(s.program.Tensors, view)
	return view
}
