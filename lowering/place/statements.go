package place

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// written appends the statements that compute s locally on each rank from operands in, and returns the results.
func (r *rewriter) written(s hostir.Stmt, in []form, c choice) []form {
	rows := hostir.AxisMap(s)
	switch s := s.(type) {
	case *hostir.Permute:
		return []form{r.permuted(s, form{in[0].tensor, renumbered(in[0].dims, rows[0])})}
	case *hostir.Broadcast:
		f := r.arranged(in[0], standard(in[0].dims))
		f.dims = renumbered(f.dims, rows[0])
		at := slices.IndexFunc(f.dims, func(d dim) bool { return d.axis > s.Axis })
		if at < 0 {
			at = len(f.dims)
		}
		return []form{r.stretched(f, slices.Insert(slices.Clone(f.dims), at, dim{axis: s.Axis, Extent: one.Extent}))}
	case *hostir.Reshape:
		return []form{r.regrouped(s, in[0], c)}
	case *hostir.Reduce:
		return []form{r.folded(s, in[0], rows[0])}
	case *hostir.Slice:
		dims := slices.Clone(in[0].dims)
		at := slices.IndexFunc(dims, hasElements(s.Axis))
		dims[at].Extent = s.Out.Axes[s.Axis].Extent
		n := *s
		n.Axis = at
		return r.clone(&n, in, dims)
	case *hostir.Gather:
		return r.gather(s, in, rows)
	case *hostir.Concat:
		dims := slices.Clone(in[0].dims)
		n := *s
		n.Axis = slices.IndexFunc(dims, hasElements(s.Axis))
		for k, t := range s.In {
			dims[n.Axis].Extent = t.Axes[s.Axis].Extent
			in[k] = r.arranged(in[k], dims)
		}
		dims[n.Axis].Extent = s.Out.Axes[s.Axis].Extent
		return r.clone(&n, in, dims)
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear:
		return []form{r.product(s, in, rows)}
	case *hostir.Unary, *hostir.Cast, *hostir.Set:
		return r.clone(s, in, renumbered(in[0].dims, rows[0]))
	case *hostir.Binary:
		return r.clone(s, in, r.broadcast(s, in, rows))
	default:
		return r.inOrder(s, in, c)
	}
}

// gather writes a gather. The table and the numbers begin with the same dims, those of the batches. If the rows of the table are split,
// each rank gathers the rows that it has, and zeros for the others, so that the result is partial.
func (r *rewriter) gather(s *hostir.Gather, in []form, rows [][]int) []form {
	in[0].dims = slices.Clone(in[0].dims)
	blocks := 0
	for i, d := range in[0].dims {
		if d.axis == s.Axis && d.split() {
			in[0].dims[i].axis, blocks = summands, 1
		}
	}
	for k, f := range in {
		dims := lists.Except(f.dims, func(d dim) bool { return d.axis < 0 && !d.split() })
		if k == 0 && !has(f, s.Axis) { // each rank has one row
			dims = append(dims, dim{axis: s.Axis, Extent: one.Extent})
		}
		in[k] = r.arranged(f, standard(dims))
	}
	batches := func(dims []dim) int {
		n := slices.IndexFunc(dims, func(d dim) bool { return d.axis >= s.Batches })
		if n < 0 {
			return len(dims)
		}
		return n
	}
	parts, own := slices.Clip(in[0].dims[:blocks]), in[0].dims[blocks:]
	table, ids := batches(own), batches(in[1].dims)
	n := *s
	if n.Batches = max(table, ids); table < ids { // one operand has blocks of batch axes that the other does not cut
		in[0] = r.reshaped(in[0], slices.Concat(parts, in[1].dims[:ids], own[table:]))
	} else {
		in[1] = r.reshaped(in[1], slices.Concat(own[:table], in[1].dims[ids:]))
	}
	n.Axis = slices.IndexFunc(in[0].dims, hasElements(s.Axis))
	dims := slices.Concat(renumbered(in[0].dims, rows[0]), renumbered(in[1].dims[n.Batches:], rows[1]))
	dims = standard(slices.DeleteFunc(dims, func(d dim) bool { return d.axis == hostir.Unmapped && !d.split() }))
	if blocks > 0 {
		first := r.add(form{tensor: &hostir.Tensor{DType: domain.FP32}}, "_first", parts, func(out *hostir.Tensor) hostir.Stmt {
			return &hostir.Positions{Info: r.info(""), Out: out, Step: in[0].dims[n.Axis].Extent}
		})
		if n.First = first.tensor; n.Batches > 0 { // the blocks are a batch axis, too
			in[1] = r.stretched(in[1], slices.Concat([]dim{one}, in[1].dims))
			n.Batches++
		}
		in = append(in, first)
	}
	return r.clone(&n, in, dims)
}

// standard returns dims in the order of the tensor's axes. Blocks come before the elements of their axis, and dims of
// the axis summands come before all others.
func standard(dims []dim) []dim {
	return slices.SortedStableFunc(slices.Values(dims), func(a, b dim) int {
		if (a.ranks == "") != (b.ranks == "") && a.axis == b.axis {
			return cmp.Compare(b.ranks, a.ranks)
		}
		return cmp.Or(cmp.Compare(a.axis, b.axis), cmp.Compare(a.ranks, b.ranks))
	})
}

// permuted writes a permute of a form whose dims have the axis numbers of the result. It returns the form itself if the order stays.
func (r *rewriter) permuted(s *hostir.Permute, f form) form {
	dims := standard(f.dims)
	perm := make([]int, len(dims))
	for i, d := range dims {
		perm[i] = slices.IndexFunc(f.dims, d.is)
	}
	if slices.IsSorted(perm) {
		return f
	}
	return r.add(form{tensor: s.Out}, suffix(dims), dims, func(out *hostir.Tensor) hostir.Stmt {
		return &hostir.Permute{Info: s.Info, Out: out, In: f.tensor, Perm: perm}
	})
}

// clone appends a copy of a statement with other operands. Result k of the copy has dims[k].
func (r *rewriter) clone(s hostir.Stmt, in []form, dims ...[]dim) []form {
	n := hostir.Clone(s)
	if a, ok := n.(*hostir.Attention); ok {
		a.Out, a.In = slices.Clone(a.Out), slices.Clone(a.In)
	}
	if f, ok := n.(*hostir.Fused); ok {
		f.Out, f.In = slices.Clone(f.Out), slices.Clone(f.In)
	}
	if l, ok := n.(*hostir.Concat); ok {
		l.In = slices.Clone(l.In)
	}
	operands := make([]*hostir.Tensor, len(in))
	for k := range in {
		operands[k] = in[k].tensor
	}
	hostir.ReplaceUses(n, operands)
	made := make([]form, len(dims))
	for k, t := range hostir.Defs(s) {
		r.of = t
		made[k] = r.add(form{tensor: t}, suffix(dims[k]), dims[k], func(out *hostir.Tensor) hostir.Stmt {
			hostir.ReplaceDef(n, t, out)
			return n
		})
		if k > 0 {
			r.body = r.body[:len(r.body)-1]
		}
	}
	return made
}

// suffix returns the end of a tensor's name: "_parts" if the tensor is partial, otherwise "".
func suffix(dims []dim) string {
	if slices.ContainsFunc(dims, func(d dim) bool { return d.axis == summands && d.split() }) {
		return "_parts"
	}
	return ""
}

// ranked returns the dims of some forms that are split over ranks, at most one for each mesh axis, in the order of the mesh axes.
func (r *rewriter) ranked(forms ...form) (list []dim) {
	for _, axis := range r.mesh.Axes {
		for _, f := range forms {
			at := slices.IndexFunc(f.dims, func(d dim) bool { return d.ranks == axis.Name && d.split() })
			if at >= 0 && !slices.ContainsFunc(list, func(d dim) bool { return d.ranks == axis.Name }) {
				list = append(list, f.dims[at])
			}
		}
	}
	return list
}

// elements returns the dims of the elements of axes first to last-1. An axis that the form lacks gets a dim of one element.
func (f form) elements(first, last int) []dim {
	var list []dim
	for axis := first; axis < last; axis++ {
		at := slices.IndexFunc(f.dims, hasElements(axis))
		if at >= 0 {
			list = append(list, f.dims[at])
		} else {
			list = append(list, dim{axis: axis, Extent: one.Extent})
		}
	}
	return list
}

// regrouped writes a reshape. Operand and result have blocks before the elements of their axis, so that no element changes its block.
func (r *rewriter) regrouped(s *hostir.Reshape, in form, c choice) form {
	operand := r.arranged(in, standard(in.dims))
	inside := dimsOf(s.Out)
	var blocks []dim
	for _, b := range r.ranked(in) {
		axis := slices.IndexFunc(r.mesh.Axes, func(a domain.MeshAxis) bool { return a.Name == b.ranks })
		if b.axis = int(c.out[0].of(axis)); b.axis < 0 {
			b.axis = summands
		} else {
			inside[b.axis].Extent = inside[b.axis].Over(b.Extent)
		}
		blocks = append(blocks, b)
	}
	for i := range inside {
		inside[i].ranks = ""
	}
	return r.reshaped(operand, standard(append(blocks, inner(inside, form{dims: blocks})...)))
}

// folded writes a reduction of each rank's elements along the reduced axis, if a rank has several. Blocks of the axis
// become a dim of the axis summands, over which a later communication reduces. If each rank has one element, folded
// only removes the axis, and casts if the result has another type.
func (r *rewriter) folded(s *hostir.Reduce, in form, row []int) form {
	at := slices.IndexFunc(in.dims, hasElements(s.Axis))
	f := form{in.tensor, slices.Clone(in.dims)}
	for i, d := range f.dims {
		if d.axis == s.Axis && d.split() {
			f.dims[i].axis = summands
		}
	}
	row = slices.Clone(row)
	row[s.Axis] = summands
	dims := renumbered(f.dims, row)
	if at >= 0 && in.dims[at].counts() {
		place := slices.IndexFunc(dims, hasElements(summands))
		return r.add(form{tensor: s.Out}, suffix(dims), slices.Delete(dims, place, place+1), func(out *hostir.Tensor) hostir.Stmt {
			return &hostir.Reduce{Info: s.Info, Fn: s.Fn, Out: out, In: f.tensor, Axis: at}
		})
	}
	dims = slices.DeleteFunc(dims, hasElements(summands))
	if at >= 0 { // one element
		f = r.reshaped(f, dims)
	}
	f.dims = dims
	if s.In.DType == s.Out.DType {
		return f
	}
	return r.add(form{tensor: s.Out}, suffix(dims), dims, func(out *hostir.Tensor) hostir.Stmt {
		return &hostir.Cast{Info: r.info(""), Out: out, In: f.tensor}
	})
}

// broadcast arranges the operands of a Binary in the order of an operand that has all dims, or else in the standard order. It returns
// the dims of the result.
func (r *rewriter) broadcast(s *hostir.Binary, in []form, rows [][]int) []dim {
	rank := len(s.Out.Axes)
	mapped := make([]form, 2)
	for k, f := range in {
		mapped[k] = form{f.tensor, renumbered(f.dims, rows[k])}
	}
	full := r.ranked(mapped...)
	for axis := range rank {
		d := elementsOf(mapped[0], axis)
		if other := elementsOf(mapped[1], axis); d.Size < other.Size {
			d = other
		}
		full = append(full, d)
	}
	full = standard(inner(slices.Clone(full), form{dims: full}))
	for _, f := range mapped {
		if slices.EqualFunc(standard(f.dims), full, dim.is) {
			full = f.dims
			break
		}
	}
	for k, f := range mapped {
		in[k] = r.arranged(f, stretched(f, full))
	}
	return full
}

// stretched returns the dims of a form in the order of others. It replaces a dim that the form lacks by a dim of one
// element, but omits it before the first dim that the form has.
func stretched(f form, others []dim) (dims []dim) {
	for _, d := range others {
		at := slices.IndexFunc(f.dims, func(o dim) bool { return o.axis == d.axis && o.ranks == d.ranks })
		switch {
		case at >= 0:
			dims = append(dims, f.dims[at])
		case len(dims) > 0:
			dims = append(dims, one)
		}
	}
	return dims
}

// inOrder writes a statement whose operands and results have blocks first, then elements. If each rank has one element of an axis, the
// block is the only dim of that axis.
func (r *rewriter) inOrder(s hostir.Stmt, in []form, c choice) []form {
	uses := hostir.Uses(s)
	for k, f := range in {
		in[k] = r.arranged(f, append(r.ranked(f), inner(f.elements(0, len(uses[k].Axes)), f)...))
	}
	defs := hostir.Defs(s)
	dims := make([][]dim, len(defs))
	for k, t := range defs {
		inside := dimsOf(t)
		for i := range inside {
			inside[i].ranks = ""
		}
		for i, axis := range r.mesh.Axes {
			at := c.out[k].of(i)
			if !at.splits() {
				continue
			}
			dims[k] = append(dims[k], dim{axis: int(at), ranks: axis.Name, Extent: axis.Extent})
			inside[at].Extent = inside[at].Over(axis.Extent)
		}
		dims[k] = append(dims[k], inner(inside, form{dims: dims[k]})...)
	}
	return r.clone(s, in, dims...)
}

// inner drops those dims of one element whose axis is split in the form: the dim of the blocks is enough.
func inner(elements []dim, f form) []dim {
	return slices.DeleteFunc(elements, func(d dim) bool {
		return d.Size == 1 && slices.ContainsFunc(f.dims, func(b dim) bool { return b.axis == d.axis && b.split() })
	})
}
