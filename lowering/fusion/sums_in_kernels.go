package fusion

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// mostParts is the largest number of parts that a kernel adds up. The kernel has a pointer for each part. With more
// parts the gain is small, because the bytes of the sum are then a smaller share of all bytes that the kernel reads.
const mostParts = 4

// SumsInKernels lets a kernel add up the parts of a sum that it reads (kernels: fused):
//
//	C = Reduce(sum, P_parts, axis 0)      Y = Fused(sum_add, P_parts_0, P_parts_1, X): C = add(P_parts_0, P_parts_1), Y = add(C, X)
//	Y = Binary(add, C, X)
//
// If several kernels read the sum, each of them adds up the parts, as long as this reads no more bytes than the
// separate sum and its readers access. The separate sum reads the parts and writes the sum, and each reader
// reads the sum again. Otherwise the first kernel adds up the parts, and stores the sum for the other kernels.
//
// Requires: the parts of a sum over ranks are in one buffer, one after the other, when the sum is computed.
// Establishes: a sum of up to four parts is written by a kernel that reads it, or is neither written nor read. This
// requires that the first reader of the sum can be such a kernel, and that the parts are not overwritten before.
func SumsInKernels(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	s := &partSums{program: p, names: hostir.NewNamer(p), readers: map[*hostir.Tensor]int{}, gone: map[*hostir.Tensor]bool{}}
	for stmt := range hostir.All(p.Body) {
		for _, t := range hostir.Uses(stmt) {
			s.readers[t]++
		}
		hostir.Views(stmt, func(view *hostir.Tensor) {
			for _, t := range hostir.Uses(view.Of) {
				s.readers[t]++
			}
		})
	}
	p.Body = hostir.RewriteBlocks(p.Body, s.block)
	p.Body = hostir.Rewrite(p.Body, func(stmt hostir.Stmt) []hostir.Stmt {
		if a, ok := stmt.(*hostir.Allocate); ok && s.gone[a.Tensor] {
			return nil
		}
		return []hostir.Stmt{stmt}
	})
	p.Remove(s.gone)
	return nil
}

type partSums struct {
	program *hostir.Program
	names   *hostir.Namer
	readers map[*hostir.Tensor]int // how often statements and views read a tensor
	gone    map[*hostir.Tensor]bool
}

// block replaces each sum in a list of statements by kernels that add up its parts.
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

// readersOf lists the indices of the statements after a sum that read the sum, up to a statement that overwrites its
// parts. If a reader cannot be a kernel, it is the last one listed.
func readersOf(body []hostir.Stmt, at int, sum *hostir.Reduce) (places []int) {
	for i := at + 1; i < len(body); i++ {
		if writes(body[i], sum.In) {
			break
		}
		if reads(body[i], sum.Out) {
			places = append(places, i)
			if !mayBeKernel(body[i]) {
				break
			}
		}
	}
	return places
}

// reads reports whether a statement, or a nested one, reads the buffer of a tensor, possibly through a view.
func reads(stmt hostir.Stmt, t *hostir.Tensor) bool { return touches(stmt, t, hostir.Uses) }

// writes reports whether a statement, or a nested one, writes to the buffer of a tensor.
func writes(stmt hostir.Stmt, t *hostir.Tensor) bool { return touches(stmt, t, hostir.Defs) }

// touches reports whether list returns, for a statement or a nested one, a tensor in the same buffer as t.
func touches(stmt hostir.Stmt, t *hostir.Tensor, list func(hostir.Stmt) []*hostir.Tensor) bool {
	of := hostir.Buffers(t)
	return hostir.Any([]hostir.Stmt{stmt}, func(inner hostir.Stmt) bool {
		return slices.ContainsFunc(list(inner), func(named *hostir.Tensor) bool {
			return slices.ContainsFunc(hostir.Buffers(named), func(b *hostir.Tensor) bool { return slices.Contains(of, b) })
		})
	})
}

// hasParts reports whether a statement sums 2 to mostParts parts on one rank into a separate buffer. The parts have to
// be one after the other in memory.
func (s *partSums) hasParts(r *hostir.Reduce) bool {
	a := r.In.Axes[r.Axis]
	return r.Fn == "sum" && r.Out.Role == hostir.Temp && !hostir.MayMove(r) && (a.Kind == domain.Serial || a.Kind == domain.Stream) &&
		a.LocalSize() > 1 && a.LocalSize() <= mostParts &&
		hostir.Outside(r.In, r.Axis) < 0 && hasRows(partOf(r)) && len(hostir.Live(r.Out)) > 0
}

// all reports whether the given statements may be kernels, and no other statements read the sum. Reading its parts in
// all of them may not access more bytes than computing, writing and reading the sum.
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

// mayStore reports whether a statement may be a kernel that also stores a sum that it reads. It may not read the sum
// through a view.
func mayStore(reader hostir.Stmt, sum *hostir.Tensor) bool {
	viewed := func(t *hostir.Tensor) bool { return t != sum && slices.Contains(hostir.Buffers(t), sum) }
	if !mayBeKernel(reader) || !slices.Contains(hostir.Uses(reader), sum) || slices.ContainsFunc(hostir.Uses(reader), viewed) {
		return false
	}
	k := asKernel(reader)
	return !k.FoldsRows() && !k.FoldsColumns() && k.Parts() == 1 && k.Out[0].Mesh == sum.Mesh && hostir.SameAxes(k.Out[0], sum)
}

// part declares a view of part i of a sum, and returns it.
func (s *partSums) part(sum *hostir.Reduce, i int64) *hostir.Tensor {
	view := partOf(sum)
	view.Name = s.names.Fresh(fmt.Sprintf("%s_%d", sum.In.Name, i))
	view.Of = &hostir.Select{Info: hostir.InfoFrom(sum, ""), Out: view, In: sum.In, Axis: sum.Axis, Index: expr.Int(i)}
	s.program.Tensors = append(s.program.Tensors, view)
	return view
}

// partOf returns a view, without a name, of one part of a sum. The view does not have the summed axis.
func partOf(sum *hostir.Reduce) *hostir.Tensor {
	in := sum.In
	return &hostir.Tensor{
		DType: in.DType, Mesh: in.Mesh, Role: hostir.View, Axes: lists.Without(in.Axes, sum.Axis),
		Layout: hostir.DropAxis(in.Layout, sum.Axis), Pos: in.Pos,
	}
}
