package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// FoldColumns lets a sum or maximum over rows compute its operand itself, from the operands of the kernel that computed
// it before (kernels: fused). That kernel stores the values per row that the reduction needs:
//
//	Y, g = Fused(grad, dY, X): ..., r = rsqrt(s), n = mul(X, r), ..., also g = mul(dY, n), Y = ...
//	w = Reduce(sum, g, axis 0)
//
// becomes
//
//	Y, r = Fused(grad, dY, X): ..., also r = rsqrt(s), n = mul(X, r), ..., Y = ...
//	w = Fused(mul_mul_sum, dY, X, r): n = mul(X, r), g = mul(dY, n), w = sum_rows(g)
//
// If a cast of the spec rounds the folded tensor, the kernel rounds it in a register. The folded tensor then
// needs no memory. But the tensor stays, among other cases, if another statement reads it, if a pipeline cuts
// it, or if it takes more than a few cheap steps. It also stays if the reduction would read more bytes than
// writing and reading the folded tensor takes.
//
// Requires: tensors are whole (before lower-streams); FuseElementwise has run.
func FoldColumns(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	c := &columnFolds{links: linksOf(p.Body), program: p, names: hostir.NewNamer(p), written: writtenCasts(p)}
	gone := map[hostir.Stmt]bool{}
	for i, s := range p.Body {
		if r, ok := s.(*hostir.Reduce); ok && c.mayFold(r) {
			maker := c.maker[r.In]
			if fold, left := c.fold(r, asKernel(maker)); fold != nil {
				p.Body[i], gone[maker] = fold, !left
			}
		}
	}
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool { return gone[s] })
	return nil
}

type columnFolds struct {
	*links
	program *hostir.Program
	names   *hostir.Namer
	written map[diag.Pos]bool // positions of casts that the spec has
}

// mayFold reports whether a reduction folds all rows of its operand and is the only reader of the operand, and whether
// the statement that computes the operand may be a kernel. No pipeline may slice either tensor, and the operand has to
// be row-major.
func (c *columnFolds) mayFold(r *hostir.Reduce) bool {
	maker := c.maker[r.In]
	if maker == nil || !mayBeKernel(maker) || len(c.readers[r.In]) != 1 || r.In.Role != hostir.Temp || hostir.MayMove(r) ||
		!slices.Contains([]string{"sum", "max"}, r.Fn) || r.Axis != hostir.RowAxis(r.In) || hostir.StreamAxis(r.In) >= 0 ||
		hostir.StreamAxis(r.Out) >= 0 {
		return false
	}
	for _, i := range hostir.Live(r.Out) {
		if i != last(hostir.Live(r.Out)) && r.Out.Axes[i].LocalSize() > 1 {
			return false // several results for each column
		}
	}
	return r.In.Axes[r.Axis].LocalSize() > 1 && hostir.Result(maker).Mesh == r.Out.Mesh && slices.IsSorted(hostir.Layout(r.In))
}

// fold returns the kernel that replaces a reduction of a result of the kernel from, and whether from still has results.
// It returns nil if the reduction has to stay.
func (c *columnFolds) fold(r *hostir.Reduce, from *hostir.Fused) (fold *hostir.Fused, left bool) {
	n := &needed{from: from, wide: from.Body.Rows(from.HasRows()), seen: map[int]bool{}}
	made := len(from.In) + from.Body.Results()[slices.Index(from.Out, r.In)]
	if !n.wide[made] || !n.need(made) || !n.pays(r) {
		return nil, false
	}
	results := resultsOf(from)
	delete(results, made)
	rows := map[int]*hostir.Tensor{}
	for _, at := range n.rows {
		if rows[at] = results[at]; rows[at] == nil {
			rows[at] = c.forRow(from.Body[at-len(from.In)].Name, r.In)
			results[at] = rows[at]
		}
	}
	exact := ""
	if r.In == from.Out[0] && roundsFirst(from, c.written) {
		exact = c.names.Fresh(r.In.Name + "_exact")
	}
	fold = n.kernel(r, rows, made, exact)
	if len(results) > 0 && !restrict(from, results, r.In) {
		return nil, false
	}
	var given []*hostir.Tensor
	for _, at := range n.rows {
		given, c.maker[rows[at]] = append(given, rows[at]), from
	}
	at := slices.Index(c.program.Tensors, r.In)
	given = slices.DeleteFunc(given, func(t *hostir.Tensor) bool { return slices.Contains(c.program.Tensors, t) })
	c.program.Tensors = slices.Replace(c.program.Tensors, at, at+1, given...)
	return fold, len(results) > 0
}

// forRow returns a new fp32 tensor with one element for each row of the tensor of.
func (c *columnFolds) forRow(name string, of *hostir.Tensor) *hostir.Tensor {
	t := *of
	t.Name, t.DType, t.Axes = c.names.Fresh(name), domain.FP32, slices.Clone(of.Axes)
	t.Axes[last(hostir.Live(of))] = domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Text: "1", Size: 1}}
	return &t
}

func last[T any](list []T) T { return list[len(list)-1] }
