package emit

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A product is C[m, n] = A[m, k] B[k, n], batched: what a plan is made from.
type product struct {
	m, n, k, batch            quantity
	strideA, strideB, strideC quantity
	transposeA, transposeB    bool
	bias, addend              bool
}

// matmul prints out[..., m, n] = a[..., m, k] b[..., k, n].
func (b *builder) matmul(s *hostir.Matmul) ([]node, error) {
	buffers, err := b.operandBuffers(s, s.Out, s.A, s.B)
	if err != nil {
		return nil, err
	}
	return b.multiply(s, buffers, false, "", s.Addend)
}

// linear prints out[..., n] = x[..., k] w[..., n, k]^T + bias[n].
func (b *builder) linear(s *hostir.Linear) ([]node, error) {
	buffers, err := b.operandBuffers(s, append([]*hostir.Tensor{s.Out}, hostir.Uses(s)...)...)
	if err != nil {
		return nil, err
	}
	if s.Bias == nil {
		return b.multiply(s, buffers, true, "", s.Addend)
	}
	bias := buffers[3]
	if s.Bias.DType != s.Out.DType || !bias.contiguous() || bias.elements().size != last(buffers[0].dims).extent.size {
		return nil, errorAt(s.Pos, "the bias %q must be a dense vector of the result's type", s.Bias.Name)
	}
	return b.multiply(s, buffers, true, bias.name, s.Addend)
}

// multiply prints the product of buffers[1] and buffers[2]; the second one is stored
// [n, k] when columnsFirst is set. The addend, if there is one, lies as the result does.
func (b *builder) multiply(s hostir.Stmt, buffers []*buffer, columnsFirst bool, bias string, addend *hostir.Tensor) ([]node, error) {
	out, x, y := buffers[0], buffers[1], buffers[2]
	if len(x.dims) == 0 || len(y.dims) < 2 || len(out.dims) == 0 {
		return nil, internalError(s.Meta().Pos, s.Op(), "the operands have too few axes")
	}
	p, misfit := productOf(out, x, y)
	if misfit != nil {
		return nil, notContiguous(s.Meta().Pos, misfit.tensor, "a product")
	}
	p.transposeB, p.bias, p.addend = p.transposeB != columnsFirst, bias != "", addend != nil
	call, err := b.product(s, p, out, x, y)
	if err != nil {
		return nil, err
	}
	if call.Bias = bias; addend != nil {
		call.Beta = "kOne"
		call.Added, err = b.addend(s, addend, out)
	}
	return []node{call}, err
}

// productOf finds the rows and the batches of a product of x and y, or the buffer that has none that
// cuBLASLt can read. Where the second operand is one matrix, all leading axes of the first are
// rows, in the order in which they lie in memory, or, where they are not one run of it, the
// outermost of them are batches. Otherwise those that stand before its last two are batches, as
// NumPy has it.
func productOf(out, x, y *buffer) (p product, misfit *buffer) {
	operands := [3]*buffer{out, x, y}
	dims := [3][]dim{out.dims, x.dims, y.dims}
	least, most := 0, max(0, len(out.dims)-2)
	if extentOf(y.dims[:len(y.dims)-2]).isOne() {
		dims[0], dims[1] = asTheyLie(out.dims, x.dims)
		most = max(0, len(dims[0])-2)
	} else {
		least = most
	}
	at := 0
	for batches := least; batches <= most; batches++ {
		if p, at = batched(dims, batches); at < 0 {
			return p, nil
		}
	}
	return p, operands[at]
}

// asTheyLie puts the leading axes of a result and its first operand in the order in which those of
// the result lie in memory, outermost first. Axes of one element are left out.
func asTheyLie(out, x []dim) (sortedOut, sortedX []dim) {
	if len(out) != len(x) {
		return out, x
	}
	var order []int
	for i := range len(out) - 1 {
		if !out[i].extent.isOne() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(out[j].stride.size, out[i].stride.size) })
	for _, i := range append(order, len(out)-1) {
		sortedOut, sortedX = append(sortedOut, out[i]), append(sortedX, x[i])
	}
	return sortedOut, sortedX
}

// batched is a product whose outermost axes, so many, are batches. misfit says which of the result
// and the operands does not lie so, and is negative if all do.
func batched(dims [3][]dim, batches int) (p product, misfit int) {
	out, x, y := dims[0], dims[1], dims[2]
	batch, rows := out[:batches], out[batches:len(out)-1]
	p = product{m: extentOf(rows), n: last(out).extent, k: last(x).extent, batch: extentOf(batch)}
	var fits, turned bool
	if p.strideC, turned, fits = matrix(out, len(rows)+1, batch); !fits || turned {
		return p, 0
	}
	if p.strideA, p.transposeA, fits = matrix(x, min(len(rows)+1, len(x)), batch); !fits {
		return p, 1
	}
	if p.strideB, p.transposeB, fits = matrix(y, 2, batch); !fits {
		return p, 2
	}
	return p, -1
}

// addend is the pointer to what a product adds to, which lies as its result does.
func (b *builder) addend(s hostir.Stmt, t *hostir.Tensor, out *buffer) (string, error) {
	buf, err := b.operandBuffer(s, t)
	if err != nil {
		return "", err
	}
	same := slices.EqualFunc(buf.dims, out.dims, func(d, o dim) bool {
		return d.extent.size == o.extent.size && (d.extent.isOne() || d.stride.size == o.stride.size)
	})
	if !same || buf.typ != out.typ {
		return "", errorAt(s.Meta().Pos, "%q, to which the product is added, does not lie in memory as %q does", t.Name, out.tensor.Name)
	}
	return buf.name, nil
}

// matrix reads the last `inner` axes of a buffer as a matrix: the last one is its
// columns, the ones before are its rows. It gives the distance of the matrices of a
// batch, 0 where they are one and the same, and whether each is stored by columns; ok
// is false when cuBLASLt, as we call it, cannot read the buffer.
func matrix(dims []dim, inner int, batch []dim) (stride quantity, transposed, ok bool) {
	own, axes := dims[:len(dims)-inner], dims[len(dims)-inner:]
	stride, ok = batchStride(own, batch)
	if !ok {
		return number(0), false, false
	}
	if rowMajor(axes) {
		return stride, false, true
	}
	byColumns := append([]dim{last(axes)}, axes[:len(axes)-1]...)
	return stride, true, rowMajor(byColumns)
}

// batchStride is the distance between the matrices of a batch, when there is one. The
// operand's own batch axes are aligned with the batch from the last one; where it has
// no axis, or one of one element, its matrix is used again.
func batchStride(own, batch []dim) (stride quantity, ok bool) {
	stride = number(0)
	next, first := int64(0), true // the stride that continues the run
	for i, d := range slices.Backward(batch) {
		if d.extent.isOne() {
			continue
		}
		step := number(0)
		if at := len(own) - (len(batch) - i); at >= 0 && !own[at].extent.isOne() {
			step = own[at].stride
		}
		if first {
			stride, first = step, false
		} else if step.size != next {
			return number(0), false
		}
		next = mustMultiply(step.size, d.extent.size)
	}
	return stride, true
}

func last(dims []dim) dim { return dims[len(dims)-1] }

// product declares the plan and prints the call.
func (b *builder) product(s hostir.Stmt, p product, out, x, y *buffer) (*productNode, error) {
	if out.typ != x.typ || out.typ != y.typ {
		return nil, errorAt(s.Meta().Pos, "the operands and the result of a product have one type; cast %q", out.tensor.Name)
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
	b.view.Shapes = append(b.view.Shapes, shapeView{shape, p.fields(out.typ)})
	b.view.Plans = append(b.view.Plans, &planMember{plan, shape, src.Where})
	b.view.Products = append(b.view.Products, productView{
		M: times(b.runs(), p.m), N: p.n, K: p.k, Batch: p.batch,
	})
	return &productNode{source: src, Plan: plan, Out: out.name, A: x.name, B: y.name, Added: out.name, Beta: "kZero", Workspace: workspace}, nil
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
	}{{"transpose_a", p.transposeA}, {"transpose_b", p.transposeB}, {"bias", p.bias}, {"addend", p.addend}} {
		if flag.set {
			list = append(list, fieldView{flag.name, "true"})
		}
	}
	return append(list, fieldView{"dtype", typ.DType})
}

// contraction is the largest number of terms that products which read an input sum: see
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
