package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// operation checks a single statement: its shapes, element types, ranks and communication.
func (v *verifier) operation(s hostir.Stmt) {
	switch s := s.(type) {
	case *hostir.Select:
		v.selects(s)
		return
	case *hostir.Communication:
		v.communication(s)
		return
	case *hostir.Reshape:
		v.reshape(s)
	case *hostir.Permute:
		if !isPermutation(s.Perm, len(hostir.Live(s.In))) {
			v.breach(s, "shape", "perm %s is no permutation of the %d axes of %s", text.Numbers(s.Perm), len(hostir.Live(s.In)), s.In.Name)
			return
		}
	case *hostir.Positions:
		if n := len(hostir.Live(s.Out)); n != 1 || s.Out.DType != domain.FP32 {
			v.breach(s, "shape", "positions are one axis of fp32, and %s is %s %s", s.Out.Name, s.Out.DType, domain.FormatAxes(s.Out.Axes))
		} else if s.Step.Size > 0 && s.Out.Axes[hostir.Live(s.Out)[0]].LocalSize() != 1 {
			v.breach(s, "shape", "with a step, each rank has one position, and %s is %s", s.Out.Name, domain.FormatAxes(s.Out.Axes))
		}
		return
	case *hostir.Gather:
		if !v.gather(s) {
			return
		}
	case *hostir.TopK:
		if !v.topK(s) {
			return
		}
	case *hostir.Slice, *hostir.Concat:
		if !v.ranges(s) {
			return
		}
	case *hostir.Attention:
		if !v.attention(s) {
			return
		}
	case *hostir.Reduce:
		if s.Axis >= len(s.In.Axes) || s.In.Axes[s.Axis].Kind == domain.Reduction {
			v.breach(s, "shape", "%s has no axis %d to reduce", s.In.Name, s.Axis)
			return
		}
	}
	rows := hostir.AxisMap(s)
	for i, t := range hostir.Uses(s) {
		if rows != nil && v.rank(s, t) {
			v.operand(s, t, rows[i])
			v.whole(s, t, rows[i])
			v.present(s, t)
		}
	}
	if rows != nil {
		v.made(s, rows)
	}
	v.body(s)
	v.products(s)
	v.addends(s)
	if fn := hostir.Epilogue(s); fn != "" && domain.FunctionOf(fn).Epilogue == "" {
		v.breach(s, "shape", "no GEMM can apply %q to its result", fn)
	}
	v.dtypes(s)
}

// gather checks the types and the number of axes of a Gather. It returns false after a breach.
func (v *verifier) gather(s *hostir.Gather) bool {
	axes, at := len(hostir.Live(s.Table))-1+len(hostir.Live(s.IDs))-s.Batches, slices.Index(hostir.Live(s.Table), s.Axis)
	ok := s.Batches >= 0 && s.Batches <= min(at, len(hostir.Live(s.IDs))) && axes == len(hostir.Live(s.Out)) && s.Out.DType == s.Table.DType &&
		s.IDs.DType.IsInteger() && (s.First == nil || s.First.DType == domain.FP32 && len(hostir.Live(s.First)) <= at)
	if !ok {
		v.breach(s, "shape", "%s %s does not have the rows of %s %s by %s %s", s.Out.Name, domain.FormatAxes(s.Out.Axes), s.Table.Name,
			domain.FormatAxes(s.Table.Axes), s.IDs.Name, domain.FormatAxes(s.IDs.Axes))
	}
	return ok
}

// topK checks the two results of a TopK: their types, and that they have the rows of the operand and equally many
// columns, at most as many as the operand. It returns false after a breach.
func (v *verifier) topK(s *hostir.TopK) bool {
	in := domain.Shape(s.In.Axes)
	last, types := len(in)-1, []domain.DType{s.In.DType, domain.Int32}
	for i, t := range s.Out {
		shape := domain.Shape(t.Axes)
		if len(s.Out) != 2 || last < 0 || len(shape) != last+1 || !slices.Equal(shape[:last], in[:last]) || shape[last] > in[last] ||
			shape[last] != domain.Shape(s.Out[0].Axes)[last] || t.DType != types[i] {
			v.breach(s, "shape", "%s %s %s does not have the largest elements of %s %s %s", t.Name, t.DType, domain.FormatAxes(t.Axes),
				s.In.Name, s.In.DType, domain.FormatAxes(s.In.Axes))
			return false
		}
	}
	return true
}

func isPermutation(perm []int, n int) bool {
	sorted := slices.Sorted(slices.Values(perm))
	for i, p := range sorted {
		if p != i {
			return false
		}
	}
	return len(perm) == n
}

// rank checks that an operand and the result have numbers of axes that fit the statement. It returns false after a breach.
func (v *verifier) rank(s hostir.Stmt, t *hostir.Tensor) bool {
	in, out := len(hostir.Live(t)), len(hostir.Live(hostir.Result(s)))
	ok := true
	switch s := s.(type) {
	case *hostir.Set, *hostir.PeerReadSum, *hostir.Unary, *hostir.Cast, *hostir.Permute, *hostir.Slice, *hostir.Concat, *hostir.TopK:
		ok = in == out
	case *hostir.Broadcast:
		ok = in+1 == out && s.Axis < len(s.Out.Axes)
	case *hostir.Reduce:
		ok = in == out+1
	case *hostir.Binary:
		ok = in <= out
	case *hostir.Fused:
		ok = in <= out || (s.FoldsRows() || s.FoldsColumns()) && in == out+1
	case *hostir.Matmul:
		ok = in > 0 && (t != s.B || in > 1) && (t != s.Addend || in == out)
	case *hostir.BlockLinear:
		ok = in > 1 && out > 1
	case *hostir.Linear:
		ok = in > 0 && (t != s.W || in > 1) && (t != s.Addend || in == out)
	}
	if !ok {
		v.breach(s, "shape", "%s %s does not fit %s %s in %s",
			t.Name, domain.FormatAxes(t.Axes), hostir.Result(s).Name, domain.FormatAxes(hostir.Result(s).Axes), hostir.Op(s))
	}
	return ok
}

// operand checks that corresponding axes have the same extent, except for axes that stretch (stretches), and, in a lowered program,
// the same ranks.
func (v *verifier) operand(s hostir.Stmt, t *hostir.Tensor, row []int) {
	out := hostir.Result(s)
	for i, j := range row {
		if j == hostir.Unmapped {
			continue
		}
		a, b := t.Axes[i], out.Axes[j]
		stretched := stretches(s, a, b)
		switch {
		case a.Size != b.Size && !stretched:
			v.breach(s, "shape", "axis %d of %s has %d elements, and axis %d of %s has %d",
				i, t.Name, a.Size, j, out.Name, b.Size)
		case v.lowered && !hostir.MayMove(s) && (!stretched || a.Kind == domain.Device) && hostir.SplitOver(a) != hostir.SplitOver(b):
			v.breach(s, "local", "axis %d of %s and axis %d of %s are on different ranks: %s and %s",
				i, t.Name, j, out.Name, a, b)
		}
	}
}

// products checks that the contracted axes of a GEMM have the same extent. It leaves a BlockLinear to v.blocks.
func (v *verifier) products(s hostir.Stmt) {
	var x, y *hostir.Tensor
	fromEnd := 2
	switch s := s.(type) {
	case *hostir.Matmul:
		x, y = s.A, s.B
	case *hostir.Linear:
		x, y, fromEnd = s.X, s.W, 1
	case *hostir.BlockLinear:
		v.blocks(s)
		return
	default:
		return
	}
	a, b := hostir.Live(x), hostir.Live(y)
	if len(a) < 1 || len(b) < 2 {
		return // reported by rank
	}
	i, j := a[len(a)-1], b[len(b)-fromEnd]
	if x.Axes[i].Size != y.Axes[j].Size {
		v.breach(s, "shape", "%s sums over axis %d of %s with %d elements and axis %d of %s with %d",
			hostir.Op(s), i, x.Name, x.Axes[i].Size, j, y.Name, y.Axes[j].Size)
	}
}

// blocks checks the types and the last two axes of the operands and the result of a BlockLinear.
func (v *verifier) blocks(s *hostir.BlockLinear) {
	size := func(t *hostir.Tensor, back int) int64 {
		if live := hostir.Live(t); len(live) >= back {
			return t.Axes[live[len(live)-back]].Size
		}
		return 0
	}
	const block = domain.BlockRow
	m, n, k := size(s.X, 2), size(s.W, 2), size(s.X, 1)
	ok := size(s.W, 1) == k && size(s.S, 1)*block == k && size(s.T, 1)*block == k && size(s.S, 2) == m && size(s.T, 2)*block == n &&
		size(s.Out, 1) == n && size(s.Out, 2) == m
	if !ok {
		v.breach(s, "shape", "the operands of %s have no scale for each block", hostir.Op(s))
	}
	if !s.X.DType.Saturates() || !s.W.DType.Saturates() || s.S.DType != domain.FP32 || s.T.DType != domain.FP32 ||
		s.Out.DType != domain.FP32 && s.Out.DType != domain.BF16 {
		v.breach(s, "shape", "%s multiplies numbers of 8 bits with scales in fp32", hostir.Op(s))
	}
}

// addends checks that the addend of a GEMM has the memory layout of its result.
func (v *verifier) addends(s hostir.Stmt) {
	addend := hostir.Addend(s)
	if out := hostir.Result(s); addend != nil && !hostir.SameLayout(addend, out) {
		v.breach(s, "shape", "%s adds to %s %s %s, which does not lie in memory as %s %s %s does", hostir.Op(s),
			addend.Name, addend.DType, domain.FormatAxes(addend.Axes), out.Name, out.DType, domain.FormatAxes(out.Axes))
	}
}

// dtypes checks that the operands of a statement have the element type of its result. A Cast and a Fused may change the
// type; v.attention, v.gather and v.blocks check the types of their statements. GEMMs and reductions may return fp32,
// in which they accumulate. A bias has the result's type. operandsOf8Bits has the rules for GEMMs with 8-bit operands.
func (v *verifier) dtypes(s hostir.Stmt) {
	out := hostir.Result(s)
	if out == nil {
		return
	}
	accumulates := false
	if hostir.Is[*hostir.BlockLinear](s) {
		return // v.blocks checks its types
	}
	if product := hostir.IsGEMM(s) && out.DType.Computes(); product && hostir.Uses(s)[0].DType.Saturates() {
		v.operandsOf8Bits(s, out)
		return
	}
	switch s.(type) {
	case *hostir.Cast, *hostir.Fused, *hostir.Attention, *hostir.Gather:
		return
	case *hostir.Matmul, *hostir.Linear, *hostir.Reduce:
		accumulates = out.DType == domain.FP32
	}
	for _, t := range hostir.Uses(s) {
		if linear, ok := s.(*hostir.Linear); t.DType != out.DType && (!accumulates || ok && t == linear.Bias) {
			v.breach(s, "shape", "%s takes %s %s to %s %s: that is a Cast", hostir.Op(s), t.DType, t.Name, out.DType, out.Name)
		}
	}
}

// operandsOf8Bits checks a GEMM whose first operand has an 8-bit type. The second operand must also have an 8-bit type,
// and a bias or an addend the type of the result.
func (v *verifier) operandsOf8Bits(s hostir.Stmt, out *hostir.Tensor) {
	for i, t := range hostir.Uses(s) {
		if i == 1 && !t.DType.Saturates() || i > 1 && t.DType != out.DType {
			v.breach(s, "shape", "%s multiplies numbers of 8 bits, and %s is %s", hostir.Op(s), t.Name, t.DType)
		}
	}
}

func (v *verifier) reshape(s *hostir.Reshape) {
	size := func(t *hostir.Tensor) int64 {
		n := int64(1)
		for _, i := range hostir.Live(t) {
			n *= t.Axes[i].Size
		}
		return n
	}
	if size(s.In) != size(s.Out) {
		v.breach(s, "shape", "%s has %d elements and %s has %d", s.In.Name, size(s.In), s.Out.Name, size(s.Out))
		return
	}
	v.regroups(s)
}
