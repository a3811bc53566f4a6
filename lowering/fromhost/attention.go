package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// attention lowers an attention, or its gradient. One call computes all batches that have one stride in each operand.
// Other batches are separate calls, and so are blocks of rows with a causal mask (apart).
func (b *builder) attention(s *hostir.Attention) []calls.Stmt {
	buffers := b.operandBuffers(s, append(slices.Clone(s.In), hostir.Defs(s)...)...)
	a := attended{builder: b, stmt: s, buffers: buffers, shape: s.Shape(false, func(*domain.Mesh, string) int64 { return 0 })}
	a.batches = a.blocks().then(batchesOfHeads(s, buffers)).joined()
	a.readable()
	a.headsFit()
	list := a.cleared()
	for block := range a.apart() {
		list = append(list, a.calls(a.declare(block), block)...)
	}
	return list
}

// attended is an attention with its memory: the buffers of its operands, then of its results.
type attended struct {
	*builder
	stmt    *hostir.Attention
	buffers []*buffer
	shape   domain.AttentionShape // the shape on the first rank
	batches walk
}

// batchesOfHeads returns the walk over the batch axes of all operands and results. It leaves out the blocks of queries.
func batchesOfHeads(s *hostir.Attention, buffers []*buffer) walk {
	w := walk{strides: make([][]extents.Quantity, len(buffers))}
	keys := buffers[slices.Index(s.In, s.Keys())].dims
	n := len(keys) - 3
	for i := range n {
		w.extents = append(w.extents, keys[i].extent)
		for j, u := range buffers {
			w.strides[j] = append(w.strides[j], u.dims[len(u.dims)-heads(s, u.tensor)-n+i].stride)
		}
	}
	return w
}

// heads returns the number of a tensor's axes from the axis of heads on. They are heads, rows and elements; Logs has no
// elements.
func heads(s *hostir.Attention, t *hostir.Tensor) int {
	if t == s.Logs() {
		return 2
	}
	return 3
}

// readable refuses a tensor whose rows are not contiguous, and Logs (the log-sum-exp of each row) that are not dense in
// row-major order.
func (a *attended) readable() {
	s := a.stmt
	for _, u := range a.buffers {
		size := last(u.dims)
		fits := size.extent.IsOne() || size.stride.IsOne()
		if u.tensor == s.Logs() {
			fits = rowMajor(u.dims)
		}
		if !fits {
			refuse(a.notContiguous(s, u.tensor, "an attention"))
		}
	}
}

// declare declares the attention with its plan. If blocks are apart, block is the index of the block; otherwise it is
// 0.
func (a *attended) declare(block int64) *calls.Attention {
	s, b := a.stmt, a.builder
	name := s.Out[0].Name
	q, k := a.of(s.Queries()).dims, a.of(s.Keys()).dims
	fn := s.Kind()
	fn.Split = "" // the split only decides how queries are divided into blocks
	d := &calls.Attention{
		Name: b.names.Constant(name + "_attention"), Plan: b.names.Member(name + "_attention"),
		Layout: b.names.Constant(name + "_layout"), Fn: fn.Fn(), Batch: expr.Int(1), QueryHeads: q[len(q)-3].extent.Expr,
		KeyHeads:  a.keyHeads().Expr,
		QueryRows: q[len(q)-2].extent.Expr, KeyRows: k[len(k)-2].extent.Expr, Size: last(k).extent.Expr,
		Start: expr.Int(a.shape.Start + block*a.shape.RowsStep),
		Type:  s.Queries().DType, Label: b.computed(s, "").Label,
	}
	if n := len(a.batches.extents); n > 0 {
		d.Batch = a.batches.extents[n-1].Expr
	}
	if over := a.over(); over != "" && a.shape.RowsStep > 0 {
		mesh := b.meshOf(s.Queries())
		d.Mesh, d.Axis = b.meshes[mesh], int64(axisIndex(mesh, over))
	}
	to := []*[]expr.Expr{&d.Q, &d.K, &d.V, &d.O}
	if s.IsGrad() {
		d.Deterministic = b.program.Choices.Get(schedule.Deterministic) == schedule.True
		d.Gradients = b.names.Constant(name + "_gradients")
		to = []*[]expr.Expr{&d.GradO, &d.Q, &d.K, &d.V, &d.O, nil, &d.GradQ, &d.GradK, &d.GradV}
	}
	for i, strides := range to {
		if strides != nil {
			*strides = a.strides(i)
		}
	}
	b.out.Attentions = append(b.out.Attentions, d)
	return d
}

// of returns the buffer of an operand.
func (a *attended) of(t *hostir.Tensor) *buffer { return a.buffers[slices.Index(a.stmt.In, t)] }

// strides returns the strides of batches, heads and rows of the buffer with index at, in elements.
func (a *attended) strides(at int) []expr.Expr {
	dims := a.buffers[at].dims
	batch := expr.Expr(expr.Int(0))
	if n := len(a.batches.extents); n > 0 {
		batch = a.batches.strides[at][n-1].Expr
	}
	return []expr.Expr{batch, dims[len(dims)-3].stride.Expr, dims[len(dims)-2].stride.Expr}
}

// calls returns the call of a declared attention, in loops over the batches that need separate calls.
func (a *attended) calls(d *calls.Attention, block int64) []calls.Stmt {
	call := &calls.Attend{Info: calls.Info{Pos: a.stmt.Pos, Label: d.Label}, Attention: d.Name, Workspace: a.current.Index, On: a.current}
	to := []*calls.Pointer{&call.Q, &call.K, &call.V, &call.O, &call.Logs}
	if a.stmt.IsGrad() {
		to = []*calls.Pointer{&call.GradO, &call.Q, &call.K, &call.V, &call.O, &call.Logs, &call.GradQ, &call.GradK, &call.GradV}
	}
	for i, u := range a.buffers {
		*to[i] = a.start(u, block)
	}
	list, names := []calls.Stmt{call}, []string{}
	for outer := len(a.batches.extents) - 2; outer >= 0; outer-- {
		name := a.names.Local("batch")
		for i := range a.buffers {
			*to[i] = behind(*to[i], extents.Quantity{Expr: expr.Var(name), Size: 1}, a.batches.strides[i][outer])
		}
		list = []calls.Stmt{&calls.For{Var: name, Count: a.batches.extents[outer].Expr, Body: list}}
		names = append(names, name)
	}
	for _, name := range names {
		a.names.Release("batch", name)
	}
	return list
}
