package emit

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// A product is C[m, n] = A[m, k] B[k, n], batched: what a plan is made from.
type product struct {
	m, n, k, batch            quantity
	strideA, strideB, strideC quantity
	transposeA, transposeB    bool
	bias                      bool
}

// matmul prints out[..., m, n] = a[..., m, k] b[k, n].
func (b *builder) matmul(s *hostir.Matmul) ([]node, error) {
	buffers, err := b.operandBuffers(s, s.Out, s.A, s.B)
	if err != nil {
		return nil, err
	}
	out, x, y := buffers[0], buffers[1], buffers[2]
	if len(x.dims) == 0 || len(y.dims) < 2 || len(out.dims) != len(x.dims) {
		return nil, internalError(s.Pos, s.Op(), "the operands have too few axes")
	}
	batch := len(y.dims) - 2 // leading axes that both operands share
	if !sameExtents(x.dims[:min(batch, len(x.dims))], y.dims[:batch]) {
		return nil, internalError(s.Pos, s.Op(), "%s and %s differ in their batches", s.A.Name, s.B.Name)
	}
	p := product{
		m: extentOf(x.dims[batch : len(x.dims)-1]), n: last(y.dims).extent, k: last(x.dims).extent,
		batch: extentOf(y.dims[:batch]),
	}
	var ok [3]bool
	p.strideA, p.transposeA, ok[0] = matrix(x.dims, batch, true)
	p.strideB, p.transposeB, ok[1] = matrix(y.dims, batch, true)
	p.strideC, _, ok[2] = matrix(out.dims, batch, false)
	for i, t := range []*hostir.Tensor{s.A, s.B, s.Out} {
		if !ok[i] {
			return nil, notContiguous(s.Pos, t, "a product")
		}
	}
	return b.product(s, p, out, x, y, "")
}

// linear prints out[..., n] = x[..., k] w[n, k]^T + bias[n].
func (b *builder) linear(s *hostir.Linear) ([]node, error) {
	buffers, err := b.operandBuffers(s, append([]*hostir.Tensor{s.Out}, hostir.Uses(s)...)...)
	if err != nil {
		return nil, err
	}
	out, x, w := buffers[0], buffers[1], buffers[2]
	if len(x.dims) == 0 || len(w.dims) != 2 || len(out.dims) != len(x.dims) {
		return nil, internalError(s.Pos, s.Op(), "the operands have too few axes")
	}
	p := product{
		m: extentOf(x.dims[:len(x.dims)-1]), n: w.dims[0].extent, k: last(x.dims).extent, batch: number(1),
		bias: s.Bias != nil,
	}
	var ok [3]bool
	_, p.transposeA, ok[0] = matrix(x.dims, 0, true)
	_, transposed, fits := matrix(w.dims, 0, true)
	p.transposeB, ok[1] = !transposed, fits // stored [n, k], as a rule
	_, _, ok[2] = matrix(out.dims, 0, false)
	for i, t := range []*hostir.Tensor{s.X, s.W, s.Out} {
		if !ok[i] {
			return nil, notContiguous(s.Pos, t, "a product")
		}
	}
	if s.Bias == nil {
		return b.product(s, p, out, x, w, "")
	}
	if s.Bias.DType != s.Out.DType || !buffers[3].contiguous() || buffers[3].elements().size != p.n.size {
		return nil, errorAt(s.Pos, "the bias %q must be a dense vector of the result's type", s.Bias.Name)
	}
	return b.product(s, p, out, x, w, buffers[3].name)
}

// matrix reads a buffer as `batch` leading axes of matrices, whose columns are the
// last axis and whose rows are all axes between. It gives the distance of the
// matrices and whether each is stored by columns; ok is false when cuBLASLt, as we
// call it, cannot read the buffer.
func matrix(dims []dim, batch int, mayTranspose bool) (stride quantity, transposed, ok bool) {
	inner := dims[batch:]
	if rowMajor(inner) {
		return batchStride(dims, batch), false, batched(dims, batch)
	}
	columns := append([]dim{last(inner)}, inner[:len(inner)-1]...)
	if mayTranspose && rowMajor(columns) {
		return batchStride(dims, batch), true, batched(dims, batch)
	}
	return number(0), false, false
}

// batchStride is the distance between matrices.
func batchStride(dims []dim, batch int) quantity {
	for _, d := range slices.Backward(dims[:batch]) {
		if !d.extent.isOne() {
			return d.stride
		}
	}
	return number(0)
}

// batched reports whether the matrices follow each other at one distance.
func batched(dims []dim, batch int) bool {
	want := batchStride(dims, batch).size
	for _, d := range slices.Backward(dims[:batch]) {
		if d.extent.isOne() {
			continue
		}
		if d.stride.size != want {
			return false
		}
		want = mustMultiply(want, d.extent.size)
	}
	return true
}

func sameExtents(a, b []dim) bool {
	return slices.EqualFunc(a, b, func(x, y dim) bool { return x.extent.size == y.extent.size })
}

func last(dims []dim) dim { return dims[len(dims)-1] }

// product declares the plan and prints the call.
func (b *builder) product(s hostir.Stmt, p product, out, x, y *buffer, bias string) ([]node, error) {
	if out.typ != x.typ || out.typ != y.typ {
		return nil, errorAt(s.Meta().Pos, "the operands and the result of a product have one type; cast %q", out.tensor.Name)
	}
	workspace, err := b.workspace(s)
	if err != nil {
		return nil, err
	}
	src := b.located(s, s.Op()+"_"+out.root.Name, s.Op()+" of "+out.tensor.Name)
	plan, shape := b.names.member(out.root.Name+"_plan"), b.names.constant(out.root.Name+"_shape")
	b.view.Shapes = append(b.view.Shapes, shapeView{shape, p.fields(out.typ)})
	b.view.Plans = append(b.view.Plans, &planMember{plan, shape, src.Where})
	b.view.Products = append(b.view.Products, productView{
		M: times(b.iterations(), p.m), N: p.n, K: p.k, Batch: p.batch,
	})
	return []node{&productNode{src, plan, out.name, x.name, y.name, bias, workspace}}, nil
}

// workspace is the memory that a product on the current stream may use.
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
func (p product) fields(typ cppType) []fieldView {
	list := []fieldView{{"m", p.m.String()}, {"n", p.n.String()}, {"k", p.k.String()}}
	if !p.batch.isOne() {
		list = append(list, fieldView{"batch", p.batch.String()}, fieldView{"stride_a", p.strideA.String()},
			fieldView{"stride_b", p.strideB.String()}, fieldView{"stride_c", p.strideC.String()})
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"transpose_a", p.transposeA}, {"transpose_b", p.transposeB}, {"bias", p.bias}} {
		if flag.set {
			list = append(list, fieldView{flag.name, "true"})
		}
	}
	return append(list, fieldView{"dtype", typ.DType})
}

// contraction is the largest extent over which products that read an input sum. It
// bounds how many non-zero integers the check may fill the input with.
func (b *builder) contraction(t *hostir.Tensor) quantity {
	widest := number(1)
	for _, op := range b.program.Reference {
		if op.Kind != "matmul" && op.Kind != "linear" {
			continue
		}
		live := hostir.Live(t)
		for i, name := range op.In {
			if name != t.Name || i > 1 || len(live) == 0 {
				continue
			}
			axis := live[len(live)-1]
			if op.Kind == "matmul" && i == 1 && len(live) > 1 {
				axis = live[len(live)-2]
			}
			if k := b.scope.extent(t.Axes[axis].Extent); k.size > widest.size {
				widest = k
			}
		}
	}
	return widest
}
