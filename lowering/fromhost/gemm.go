package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A gemm is C[m, n] = A[m, k] B[k, n], batched, in one or more calls with one plan.
type gemm struct {
	m, n, k, batch            extents.Quantity
	strideA, strideB, strideC extents.Quantity
	rowB                      extents.Quantity // leading dimension of B, in elements; 0: dense
	transposeA, transposeB    bool
	bias, addend              bool
	then                      string
	calls                     []leadingAxis // axes along which each index is a separate call, outermost first
}

// matmul lowers out[..., m, n] = a[..., m, k] b[..., k, n].
func (b *builder) matmul(s *hostir.Matmul) []calls.Stmt {
	buffers := b.operandBuffers(s, s.Out, s.A, s.B)
	return b.multiply(s, withRow(buffers, s.OneRow), false, nil, s.Addend)
}

// linear lowers out[..., n] = x[..., k] w[..., n, k]^T + bias[n].
func (b *builder) linear(s *hostir.Linear) []calls.Stmt {
	buffers := b.operandBuffers(s, append([]*hostir.Tensor{s.Out}, hostir.Uses(s)...)...)
	buffers = withRow(buffers, s.OneRow)
	if s.Bias == nil {
		return b.multiply(s, buffers, true, nil, s.Addend)
	}
	bias := buffers[3]
	if s.Bias.DType != s.Out.DType || !rowMajor(bias.dims[len(bias.dims)-1:]) {
		refuse(errorAt(s.Pos, "the bias %s must have dense rows of the result's type, %s", hostir.Called(b.program, s, s.Bias), s.Out.DType))
	}
	return b.multiply(s, buffers, true, bias, s.Addend)
}

// withRow adds an axis of one row to the result and the first operand (the first two buffers), if oneRow is set.
func withRow(buffers []*buffer, oneRow bool) []*buffer {
	if !oneRow {
		return buffers
	}
	buffers = slices.Clone(buffers)
	for i, u := range buffers[:2] {
		row := *u
		row.dims = slices.Insert(slices.Clone(u.dims), max(0, len(u.dims)-1), dim{extent: extents.Number(1), stride: extents.Number(0)})
		buffers[i] = &row
	}
	return buffers
}

// multiply lowers the product of buffers[1] and buffers[2] into buffers[0]. The second operand has axes [n, k] if
// columnsFirst is set. The addend and the bias may be nil. The addend has the layout of the result.
func (b *builder) multiply(s hostir.Stmt, buffers []*buffer, columnsFirst bool, bias *buffer, addend *hostir.Tensor) []calls.Stmt {
	out, x, y := buffers[0], buffers[1], buffers[2]
	if len(x.dims) == 0 || len(y.dims) < 2 || len(out.dims) == 0 {
		refuse(internalError(s, "the operands have too few axes"))
	}
	p, misfit := gemmOf(out, x, y, bias)
	if misfit != nil {
		refuse(b.notContiguous(s, misfit.tensor, "a matmul"))
	}
	p.transposeB, p.bias, p.addend = p.transposeB != columnsFirst, bias != nil, addend != nil
	p.then = hostir.Epilogue(s)
	if p.n.IsOne() && y.typ.Saturates() { // an fp8 B has to be transposed; a single column is then one dense row
		p.transposeB, p.rowB = true, extents.Quantity{}
	}
	b.gemmFits(s, p)
	call := b.gemm(s, p, out, x, y)
	if bias != nil {
		at := b.pointer(bias)
		call.Bias = &at
	}
	if addend != nil {
		call.Addend = b.addend(s, addend, out)
	}
	return b.calls(p, call)
}

// addend returns the pointer to the addend of a GEMM. It refuses an addend with another layout or type than the
// result's.
func (b *builder) addend(s hostir.Stmt, t *hostir.Tensor, out *buffer) *calls.Pointer {
	buf := b.operandBuffer(s, t)
	same := slices.EqualFunc(long(buf.dims), long(out.dims), func(d, o dim) bool {
		return d.extent.Size == o.extent.Size && d.stride.Size == o.stride.Size
	})
	if !same || buf.typ != out.typ {
		refuse(errorAt(s.Meta().Pos, "%s, to which the matmul is added, does not lie in memory as %s does",
			hostir.Called(b.program, s, t), hostir.Called(b.program, s, out.tensor)))
	}
	at := b.pointer(buf)
	return &at
}

func last(dims []dim) dim { return dims[len(dims)-1] }

// long returns dims without axes of one element.
func long(dims []dim) []dim {
	return lists.Except(dims, func(d dim) bool { return d.extent.IsOne() })
}

// gemm declares the Shape of a GEMM with its plan, and returns the call.
func (b *builder) gemm(s hostir.Stmt, p gemm, out, x, y *buffer) *calls.Gemm {
	short := x.typ.Saturates() && y.typ.Saturates() && out.typ.Computes()
	if !short && (x.typ != y.typ || out.typ != x.typ && out.typ != domain.FP32) {
		refuse(errorAt(s.Meta().Pos, "the operands of a matmul have one type, and so has its result unless it is fp32; cast %s",
			hostir.Called(b.program, s, out.tensor)))
	}
	if short && (p.transposeA || !p.transposeB || p.k.Size%hostir.ShortRow != 0) {
		refuse(internalError(s, "operands of 8 bits are not stored along the summed axis"))
	}
	on := b.current
	name, more := out.root.Name, ""
	if p.addend {
		name, more = name+"_sum", ", added to what is there"
	}
	if p.then != "" {
		more += ", then " + p.then
	}
	info := b.computed(s, more)
	shape := p.shape()
	shape.Name, shape.Plan, shape.Label = b.names.Constant(name+"_shape"), b.names.Member(name+"_plan"), info.Label
	if shape.Type = x.typ; y.typ != x.typ {
		shape.TypeB = y.typ
	}
	if out.typ != x.typ {
		shape.TypeC = out.typ
	}
	b.out.Shapes = append(b.out.Shapes, shape)
	b.accountGemm(p)
	return &calls.Gemm{
		Info: info, Shape: shape.Name, Out: b.pointer(out), A: b.pointer(x), B: b.pointer(y), On: on, Workspace: on.Index,
	}
}

// shape returns the declaration of the GEMM, without names, label and types.
func (p gemm) shape() *calls.Shape {
	d := &calls.Shape{
		M: p.m.Expr, N: p.n.Expr, K: p.k.Expr, TransposeA: p.transposeA, TransposeB: p.transposeB, Bias: p.bias, Addend: p.addend,
		Then: p.then,
	}
	if !p.batch.IsOne() {
		d.Batch, d.StrideA, d.StrideB, d.StrideC = p.batch.Expr, p.strideA.Expr, p.strideB.Expr, p.strideC.Expr
	}
	if p.rowB.Size > 0 {
		d.RowB = p.rowB.Expr
	}
	return d
}
