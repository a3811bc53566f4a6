package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// DecomposeContractions decomposes a matmul that sums over an axis that is split over ranks, such as a
// row-parallel linear. The matmul becomes a local matmul of each rank's parts, one reduction over the
// ranks, and the addition of the bias, which must not be added once per rank. The axis of an operand is split
// if a reshape merges it from an axis DIDx and the local axis after it. It is also split if it is an
// axis DIDx itself, so that each rank has one element. The first operand must have at least two axes,
// the second must be a matrix, and both must be split over the same axis of one mesh. Without this pass
// both operands are gathered.
//
// Requires: nothing; it reads the operations as the model has them.
// Establishes: no such matmul sums over an axis that is split in both operands in this way.
//
//	before: Xk = Reshape(X); Wk = Reshape(W); Y = Linear(Xk, Wk, bias)     X [M, DIDx(D), k], Xk [M, K]
//	after:  Y_x = Permute(X); Y_w = Permute(W); Y_parts = Linear(Y_x, Y_w); Y_sum = Reduce(sum, Y_parts, axis 0)
//	        Y = Binary(add, Y_sum, bias)                                   Y_parts [DIDx(D), M, N]
func DecomposeContractions(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	d := &contractions{program: p, names: hostir.NewNamer(p), merges: map[*hostir.Tensor]*hostir.Reshape{}}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		if r, ok := s.(*hostir.Reshape); ok {
			d.merges[r.Out] = r
		}
		body = append(body, d.statement(s)...)
	}
	if d.changed {
		p.Body = body
		d.dropUnread()
	}
	return nil
}

type contractions struct {
	program *hostir.Program
	names   *hostir.Namer
	merges  map[*hostir.Tensor]*hostir.Reshape // by result
	changed bool
}

func (d *contractions) statement(s hostir.Stmt) []hostir.Stmt {
	var second *hostir.Tensor
	fromEnd := 1 // the summed axis of the second operand, counted from the end: 1 is the last
	switch s := s.(type) {
	case *hostir.Linear:
		second = s.W
	case *hostir.Matmul:
		second, fromEnd = s.B, 2
	default:
		return []hostir.Stmt{s}
	}
	first := hostir.Uses(s)[0]
	if len(hostir.Live(second)) != 2 || len(hostir.Live(first)) < 2 {
		return []hostir.Stmt{s}
	}
	x, w := d.parts(first, 1), d.parts(second, fromEnd)
	if x == nil || w == nil || x.split.Mesh != w.split.Mesh || !SameMesh(x.tensor, w.tensor) {
		return []hostir.Stmt{s}
	}
	d.changed = true
	return d.parted(s, x, w)
}

// parts is an operand whose summed axis, axis fromEnd from the end (1: the last), is split over ranks.
type parts struct {
	tensor  *hostir.Tensor // with an axis DIDx and then the local axis; without the local axis if bare
	split   domain.Axis    // the axis DIDx
	fromEnd int
	bare    bool
}

// parts describes t if its axis fromEnd from the end is split over ranks. It returns nil otherwise, and if the axis is split
// itself and t has reduced axes.
func (d *contractions) parts(t *hostir.Tensor, fromEnd int) *parts {
	if in := d.merged(t, fromEnd); in != nil {
		return &parts{in, in.Axes[len(in.Axes)-fromEnd-1], fromEnd, false}
	}
	live := hostir.Live(t)
	if a := t.Axes[live[len(live)-fromEnd]]; hostir.SplitOver(a) != "" && len(live) == len(t.Axes) {
		return &parts{t, a, fromEnd, true}
	}
	return nil
}

// local returns the operand with a local axis. If it has none, local appends a Broadcast that
// adds a local axis of one element.
func (d *contractions) local(s hostir.Stmt, suffix string, o *parts, list []hostir.Stmt) (*hostir.Tensor, []hostir.Stmt) {
	if !o.bare {
		return o.tensor, list
	}
	t := o.tensor
	axis := len(t.Axes) - o.fromEnd + 1
	one := domain.Stretched()
	out := d.like(t, d.temp(s, suffix, slices.Insert(slices.Clone(t.Axes), axis, one)))
	return out, append(list, &hostir.Broadcast{Info: hostir.InfoFrom(s, ""), Out: out, In: t, Axis: axis})
}

// merged returns the operand of the reshape that makes t. It returns nil unless the reshape only
// merges an axis DIDx and the next axis into the axis of t that is fromEnd from the end.
func (d *contractions) merged(t *hostir.Tensor, fromEnd int) *hostir.Tensor {
	r := d.merges[t]
	if r == nil {
		return nil
	}
	in, live := hostir.Live(r.In), hostir.Live(r.Out)
	at := len(live) - fromEnd
	if at < 0 || len(in) != len(live)+1 || len(in) != len(r.In.Axes) || hostir.SplitOver(r.In.Axes[in[at]]) == "" {
		return nil
	}
	for n, j := range live {
		want := r.In.Axes[in[n]].Size
		switch {
		case n == at:
			want *= r.In.Axes[in[n+1]].Size
		case n > at:
			want = r.In.Axes[in[n+1]].Size
		}
		if r.Out.Axes[j].Size != want {
			return nil
		}
	}
	return r.In
}

// parted returns the statements that replace s: changes of the operands' axes, the matmul of parts, the reduction and, with a
// bias, its addition.
func (d *contractions) parted(s hostir.Stmt, first, second *parts) []hostir.Stmt {
	out := hostir.Result(s)
	x, list := d.local(s, "_x1", first, nil)
	w, list := d.local(s, "_w1", second, list)
	n, axes := len(x.Axes), hostir.Live(out)
	batch := len(axes) - 2 // the axis of parts goes before the rows; the result may lack outer axes of one element
	xs, list := d.moved(s, "_x", x, n-2, n-3, list)
	ws, list := d.moved(s, "_w", w, len(w.Axes)-second.fromEnd-1, 0, list)
	parted := d.temp(s, "_parts", slices.Insert(d.unsplit(out, axes, first), batch, first.split))
	parted.Mesh = first.tensor.Mesh
	sum, bias := out, biasOf(s)
	if bias != nil {
		sum = d.temp(s, "_sum", d.keep(out, axes))
	}
	list = append(list, multiply(s, parted, xs, ws),
		&hostir.Reduce{Info: hostir.InfoFrom(s, "the parts of all ranks"), Fn: "sum", Out: sum, In: parted, Axis: batch})
	if bias != nil {
		list = append(list, &hostir.Binary{Info: hostir.InfoFrom(s, "the bias, once"), Fn: "add", Out: out, A: sum, B: bias})
	}
	return list
}

// multiply returns s on other operands, without a bias.
func multiply(s hostir.Stmt, out, x, w *hostir.Tensor) hostir.Stmt {
	i := hostir.InfoFrom(s, "each rank's part of the sum")
	if hostir.Is[*hostir.Linear](s) {
		return &hostir.Linear{Info: i, Out: out, X: x, W: w}
	}
	return &hostir.Matmul{Info: i, Out: out, A: x, B: w}
}

func biasOf(s hostir.Stmt) *hostir.Tensor {
	if l, ok := s.(*hostir.Linear); ok {
		return l.Bias
	}
	return nil
}

// keep returns the axes of t at the given indices: those that are not reduced.
func (d *contractions) keep(t *hostir.Tensor, live []int) []domain.Axis {
	axes := make([]domain.Axis, 0, len(live)+1)
	for _, i := range live {
		axes = append(axes, t.Axes[i])
	}
	return axes
}

// unsplit returns the axes of t at the given indices, without the split over the mesh axis of an operand. Each
// rank computes from its part a partial sum of the whole result, and the reduction scatters the sum. If t is on
// another mesh, the operand's mesh may lack the mesh axes that split t, so unsplit removes all splits.
func (d *contractions) unsplit(t *hostir.Tensor, live []int, operand *parts) []domain.Axis {
	axes := d.keep(t, live)
	for i := range axes {
		if over := hostir.SplitOver(axes[i]); over != "" && (over == operand.split.Mesh || !SameMesh(t, operand.tensor)) {
			axes[i].Place(domain.Serial, "")
		}
	}
	return axes
}

// moved returns t with axis from at position to, and list with the Permute that moves the axis. It
// returns t if the axis is already there.
func (d *contractions) moved(s hostir.Stmt, suffix string, t *hostir.Tensor, from, to int, list []hostir.Stmt) (*hostir.Tensor,
	[]hostir.Stmt) {
	if from == to {
		return t, list
	}
	perm := logicalOrder(t)
	perm = slices.Insert(slices.Delete(perm, from, from+1), to, from)
	axes := make([]domain.Axis, len(perm))
	for i, a := range perm {
		axes[i] = t.Axes[a]
	}
	out := d.like(t, d.temp(s, suffix, axes))
	return out, append(list, &hostir.Permute{Info: hostir.InfoFrom(s, ""), Out: out, In: t, Perm: perm})
}

// like copies the type, mesh and source position of t to out, and returns out.
func (d *contractions) like(t, out *hostir.Tensor) *hostir.Tensor {
	out.DType, out.Mesh, out.Pos = t.DType, t.Mesh, t.Pos
	return out
}

// temp declares a Temp with the given axes, named after the result of s.
func (d *contractions) temp(s hostir.Stmt, suffix string, axes []domain.Axis) *hostir.Tensor {
	t := d.names.Declare(hostir.Result(s), suffix)
	t.Axes, t.Layout, t.Inferred = axes, nil, true
	return t
}

// dropUnread removes reshapes into temporaries that no statement reads, and these temporaries.
func (d *contractions) dropUnread() {
	readers, dead := hostir.Readers(d.program.Body), map[*hostir.Tensor]bool{}
	d.program.Body = slices.DeleteFunc(d.program.Body, func(s hostir.Stmt) bool {
		r, ok := s.(*hostir.Reshape)
		if ok && r.Out.Role == hostir.Temp && len(readers[r.Out]) == 0 {
			dead[r.Out] = true
		}
		return ok && dead[r.Out]
	})
	d.program.Remove(dead)
}
