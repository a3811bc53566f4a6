package emit

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A GEMM is C[m, n] = A[m, k] B[k, n], batched: what a plan is made from.
type gemm struct {
	m, n, k, batch            quantity
	strideA, strideB, strideC quantity
	rowB                      quantity // elements between rows of B as it is stored; 0 where they are dense
	transposeA, transposeB    bool
	bias, addend, fp32Result  bool
	calls                     []leadingAxis // outermost first: each of their elements is a call of its own
}

// matmul prints out[..., m, n] = a[..., m, k] b[..., k, n].
func (b *builder) matmul(s *hostir.Matmul) ([]node, error) {
	buffers, err := b.operandBuffers(s, s.Out, s.A, s.B)
	if err != nil {
		return nil, err
	}
	return b.multiply(s, withRow(buffers, s.OneRow), false, nil, s.Addend)
}

// linear prints out[..., n] = x[..., k] w[..., n, k]^T + bias[n].
func (b *builder) linear(s *hostir.Linear) ([]node, error) {
	buffers, err := b.operandBuffers(s, append([]*hostir.Tensor{s.Out}, hostir.Uses(s)...)...)
	if err != nil {
		return nil, err
	}
	buffers = withRow(buffers, s.OneRow)
	if s.Bias == nil {
		return b.multiply(s, buffers, true, nil, s.Addend)
	}
	bias := buffers[3]
	if s.Bias.DType != s.Out.DType || !rowMajor(bias.dims[len(bias.dims)-1:]) {
		return nil, errorAt(s.Pos, "the bias %s must have dense rows of the result's type, %s", hostir.Called(b.program, s, s.Bias), s.Out.DType)
	}
	return b.multiply(s, buffers, true, bias, s.Addend)
}

// withRow gives the result and the first operand of a GEMM, which are the first buffers, an axis
// of rows of one element where they have none.
func withRow(buffers []*buffer, oneRow bool) []*buffer {
	if !oneRow {
		return buffers
	}
	buffers = slices.Clone(buffers)
	for i, u := range buffers[:2] {
		row := *u
		row.dims = slices.Insert(slices.Clone(u.dims), max(0, len(u.dims)-1), dim{extent: number(1), stride: number(0)})
		buffers[i] = &row
	}
	return buffers
}

// multiply prints the GEMM of buffers[1] and buffers[2]; the second one is stored
// [n, k] when columnsFirst is set. The addend, if there is one, lies as the result does; the bias
// may be nil.
func (b *builder) multiply(s hostir.Stmt, buffers []*buffer, columnsFirst bool, bias *buffer, addend *hostir.Tensor) ([]node, error) {
	out, x, y := buffers[0], buffers[1], buffers[2]
	if len(x.dims) == 0 || len(y.dims) < 2 || len(out.dims) == 0 {
		return nil, internalError(s.Meta().Pos, s.Op(), "the operands have too few axes")
	}
	p, misfit := gemmOf(out, x, y, bias)
	if misfit != nil {
		return nil, b.notContiguous(s, misfit.tensor, "a matmul")
	}
	p.transposeB, p.bias, p.addend = p.transposeB != columnsFirst, bias != nil, addend != nil
	p.fp32Result = out.typ != x.typ
	call, err := b.gemm(s, p, out, x, y)
	if err != nil {
		return nil, err
	}
	if bias != nil {
		call.Bias = bias.name
	}
	if addend != nil {
		call.Beta = "kOne"
		call.Added, err = b.addend(s, addend, out)
	}
	return b.calls(p, call), err
}

// addend is the pointer to what a GEMM adds to, which lies as its result does.
func (b *builder) addend(s hostir.Stmt, t *hostir.Tensor, out *buffer) (string, error) {
	buf, err := b.operandBuffer(s, t)
	if err != nil {
		return "", err
	}
	same := slices.EqualFunc(long(buf.dims), long(out.dims), func(d, o dim) bool {
		return d.extent.size == o.extent.size && d.stride.size == o.stride.size
	})
	if !same || buf.typ != out.typ {
		return "", errorAt(s.Meta().Pos, "%s, to which the matmul is added, does not lie in memory as %s does",
			hostir.Called(b.program, s, t), hostir.Called(b.program, s, out.tensor))
	}
	return buf.name, nil
}

func last(dims []dim) dim { return dims[len(dims)-1] }

// long leaves out axes of one element.
func long(dims []dim) []dim {
	return slices.DeleteFunc(slices.Clone(dims), func(d dim) bool { return d.extent.isOne() })
}

// gemm declares the plan and prints the call.
func (b *builder) gemm(s hostir.Stmt, p gemm, out, x, y *buffer) (*gemmNode, error) {
	if x.typ != y.typ || out.typ != x.typ && out.typ != cppTypes[domain.FP32] {
		return nil, errorAt(s.Meta().Pos, "the operands of a matmul have one type, and so has its result unless it is fp32; cast %s", hostir.Called(b.program, s, out.tensor))
	}
	workspace, err := b.workspace(s)
	if err != nil {
		return nil, err
	}
	name, words := out.root.Name, s.Op()+" of "+out.tensor.Name
	if p.addend {
		name, words = name+"_sum", words+", added to what is there"
	}
	src := b.located(s, s.Op()+"_"+name, words)
	plan, shape := b.names.member(name+"_plan"), b.names.constant(name+"_shape")
	b.view.Shapes = append(b.view.Shapes, shapeView{shape, p.fields(x.typ)})
	b.view.Plans = append(b.view.Plans, &planMember{plan, shape, src.Where})
	b.view.Gemms = append(b.view.Gemms, gemmView{
		M: times(b.runs(), p.m), N: p.n, K: p.k, Batch: p.gemms(),
	})
	return &gemmNode{source: src, Plan: plan, Out: out.name, A: x.name, B: y.name, Added: out.name, Beta: "kZero", Workspace: workspace}, nil
}

// workspace is the memory that a GEMM on the current stream may use.
func (b *builder) workspace(s hostir.Stmt) (string, error) {
	switch {
	case b.current.worker != "":
		b.view.Workspaces = true
		return "workspaces_[" + b.current.worker + "]", nil
	case b.current == callersStream:
		if !b.callerWorkspace {
			b.view.Buffers = append(b.view.Buffers, &workspaceMember{at(s.Meta().Pos, "workspace")})
		}
		b.callerWorkspace = true
		return "workspace_", nil
	default:
		return "", internalError(s.Meta().Pos, s.Op(), "the stream that it runs on depends on the path taken")
	}
}

// fields are the designated initialisers of hirgen::MatmulShape, without defaults.
func (p gemm) fields(typ cppType) []fieldView {
	list := []fieldView{{"m", p.m.String()}, {"n", p.n.String()}, {"k", p.k.String()}}
	if !p.batch.isOne() {
		list = append(list, fieldView{"batch", p.batch.String()}, fieldView{"stride_a", p.strideA.String()},
			fieldView{"stride_b", p.strideB.String()}, fieldView{"stride_c", p.strideC.String()})
	}
	if p.rowB.size > 0 {
		list = append(list, fieldView{"row_b", p.rowB.String()})
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"transpose_a", p.transposeA}, {"transpose_b", p.transposeB}, {"bias", p.bias}, {"addend", p.addend}, {"fp32_result", p.fp32Result}} {
		if flag.set {
			list = append(list, fieldView{flag.name, "true"})
		}
	}
	return append(list, fieldView{"dtype", typ.DType})
}

// contraction is the largest number of terms that GEMMs which read an input sum: see
// domain.Contractions. It bounds how many non-zero integers the check may fill the input with.
func (b *builder) contraction(t *hostir.Tensor) quantity {
	product := number(1)
	for _, f := range b.terms[t.Name].Factors {
		product = together(product, b.scope.extent(f))
	}
	return product
}

// terms finds the sums that the operations of the model take.
func terms(p *hostir.Program) map[string]domain.Terms {
	shapes := make(map[string][]domain.Extent, len(p.Tensors))
	for _, t := range p.Tensors {
		shapes[t.Name] = domain.Extents(t.Axes)
	}
	ops := make([]domain.Operation, len(p.Reference))
	for i, op := range p.Reference {
		shapes[op.Out] = op.Shape
		ops[i] = domain.Operation{Kind: op.Kind, Fn: op.Fn, In: op.In, Out: op.Out, Axis: op.Axis}
	}
	return domain.Contractions(ops, func(tensor string) []domain.Extent { return shapes[tensor] })
}
