package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// scaleRows lets a GEMM of 8 bits scale its result. A kernel that only multiplies the product by a scale for each row
// and a scale for each column takes 7 to 20 % of the time of the GEMM. Scales in the GEMM take 1 to 10 % (docs/fp8.md).
// Then the product needs no memory, and the result is rounded once.
//
//	Gemm(shape kShape, out Y_product_, a Q, b W)       ->  Gemm(shape kShape, out Y, a Q, b W, scales_a S_, scales_b T)
//	Launch(kernel scale, out Y, a Y_product_, b S_, c T)
//
// The GEMM stays in its place, after the declarations of names between the two. So when it begins, the scales have to
// be ready, and the memory of the result has to be free. The pass keeps kernels that compute more, products that other
// statements use, batches, and products and results in fp16, which cuBLASLt does not scale.
func scaleRows(p *calls.Program) {
	m := &rowScaler{program: p, effects: effects.New(p), values: p.Values(), shapes: calls.ByName(p.Shapes), uses: map[string]int{}}
	for _, s := range p.Shares {
		m.uses[s.Memory]++
	}
	for _, b := range p.Buffers {
		m.uses[b.In]++
	}
	m.find(p.Body, nil)
	all := slices.Clone(m.found)
	if m.found = slices.DeleteFunc(m.found, func(s *scaling) bool { return !m.alone(s, all) }); len(m.found) == 0 {
		return
	}
	uses, kept := order.UsesOf(p), map[string]bool{}
	m.found = slices.DeleteFunc(m.found, func(s *scaling) bool { return !uses.ReadsEarlier(s.product, slices.Concat(s.result, s.scales)...) })
	for _, s := range m.found {
		m.merge(s)
		kept[s.kernel.Kernel] = false
	}
	p.Body = calls.EditLists(p.Body, m.list)
	for l := range calls.Each[*calls.Launch](p.Body) {
		kept[l.Kernel] = true
	}
	p.Kernels = slices.DeleteFunc(p.Kernels, func(k *calls.Kernel) bool { keep, merged := kept[k.Name]; return merged && !keep })
}

// rowScaler finds the kernels of a program that GEMMs can replace.
type rowScaler struct {
	program *calls.Program
	effects *effects.Table
	values  calls.Values
	shapes  map[string]*calls.Shape
	uses    map[string]int // number of pointers to each buffer
	found   []*scaling
}

// scaling is a GEMM with the kernel that scales its product.
type scaling struct {
	gemm          *calls.Gemm
	kernel        *calls.Launch
	rows, columns calls.Pointer // the scales
	product       string        // the buffer of the product
	result        []string      // the memory of the result; with a condition, there are two possibilities
	scales, read  []string      // the memory of the scales, and of A and B
}

// meaning is the meaning of a pointer: the pointer without declared names, and the memory where it may point. A name with
// a condition remains, and has the memory of both its values.
type meaning struct {
	at     calls.Pointer
	memory []string
	peer   bool // it may be memory of another rank
}

// find adds each kernel that scales the product of an earlier GEMM of its list, and counts the uses of buffers.
func (m *rowScaler) find(body []calls.Stmt, outer *nameScope[meaning]) {
	names, gemms := newNameScope(outer), map[string]*calls.Gemm{} // by the pointer to the product
	resolve := func(at calls.Pointer) meaning {
		if known := names.find(at.Base); known != nil {
			is := *known
			is.at.Offset = expr.Sum(is.at.Offset, at.Offset)
			return is
		}
		return meaning{at, []string{at.Base}, at.Peer != nil}
	}
	count := &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		for _, name := range resolve(at).memory {
			m.uses[name]++
		}
		return at
	}}
	for _, s := range body {
		if d, ok := s.(*calls.Declare); ok {
			is := resolve(d.Value)
			if d.Cond != nil {
				count.Rewrite(s)
				other := resolve(d.Else)
				is = meaning{calls.Pointer{Base: d.Name}, slices.Concat(is.memory, other.memory), is.peer || other.peer}
			}
			names.names[d.Name] = &is
			continue
		}
		count.Rewrite(s)
		for _, inner := range calls.Bodies(s) {
			m.find(*inner, names)
		}
		switch s := s.(type) {
		case *calls.Gemm:
			gemms[resolve(s.Out).at.String()] = s
		case *calls.Launch:
			if len(s.In) == 3 {
				m.add(s, gemms[resolve(s.In[0].At).at.String()], resolve)
			}
		}
	}
}

// add adds a kernel with the GEMM that makes its first operand, if the GEMM can replace the kernel.
func (m *rowScaler) add(l *calls.Launch, g *calls.Gemm, resolve func(calls.Pointer) meaning) {
	k := m.program.Kernel(l)
	if k == nil || g == nil || k.Results != 1 || l.Batch != "" || g.On.String() != l.On.String() || !scalesTwice(k) {
		return
	}
	operands, err := m.effects.Of(l)
	if err != nil || !m.fits(g, operands[effects.Out].Type) {
		return
	}
	s := &scaling{gemm: g, kernel: l, product: resolve(g.Out).at.Base, result: resolve(l.Out.At).memory,
		read: slices.Concat(resolve(g.A).memory, resolve(g.B).memory)}
	for i := range operands {
		o := &operands[i]
		is := resolve(o.At)
		switch d := m.shapes[g.Shape]; {
		case is.peer, i < 2 && !m.dense(o, d, true, true):
			return
		case i >= 2 && o.Type == domain.FP32 && m.dense(o, d, true, false):
			s.rows = o.At
		case i >= 2 && o.Type == domain.FP32 && m.dense(o, d, false, true):
			s.columns = o.At
		}
		if i >= 2 {
			s.scales = append(s.scales, is.memory...)
		}
	}
	if s.rows.Base != "" && s.columns.Base != "" {
		m.found = append(m.found, s)
	}
}

// scalesTwice reports whether a kernel multiplies its first operand by the two others, and does nothing else.
func scalesTwice(k *calls.Kernel) bool {
	const product, first = 0, 3 // steps follow the three operands
	steps := k.Steps()
	if len(steps) != 2 || steps[0].Fn != "mul" || steps[1].Fn != "mul" {
		return false
	}
	args := slices.Sorted(slices.Values(slices.Concat(steps[0].Args, steps[1].Args)))
	return slices.Equal(args, []int{product, 1, 2, first}) && slices.Contains(steps[0].Args, product)
}

// fits reports whether cuBLASLt can scale the result of a GEMM, which has the given type. A product in fp16 stays, because
// it may overflow where the result does not.
func (m *rowScaler) fits(g *calls.Gemm, result domain.DType) bool {
	shape, gemm := *m.shapes[g.Shape], *g
	if g.ScalesA != nil || shape.Result() == domain.FP16 {
		return false
	}
	shape.RowScales, shape.TypeC = true, result
	gemm.ScalesA, gemm.ScalesB = &calls.Pointer{}, &calls.Pointer{}
	return shape.Fits(&gemm, m.values)
}

// dense reports whether an operand of a kernel is a dense matrix with the rows and columns of the result of a GEMM. If
// it does not vary by row or by column, it is a vector that is the same in all rows or columns.
func (m *rowScaler) dense(o *effects.Operand, d *calls.Shape, byRow, byColumn bool) bool {
	last, next, rows := len(o.Extents)-1, int64(1), int64(1) // next is the stride of the axis
	for i, e := range slices.Backward(o.Extents) {
		extent, known := m.values.Eval(e)
		stride, given := m.values.Eval(o.Strides[i])
		want, varies := next, byRow
		if i == last {
			columns, _ := m.values.Eval(d.N)
			known, varies = known && extent == columns, byColumn
		} else {
			rows *= extent
		}
		if varies {
			next *= extent
		} else {
			want = 0
		}
		if !known || !given || extent > 1 && stride != want {
			return false
		}
	}
	want, _ := m.values.Eval(d.M)
	return last >= 0 && rows == want
}

// alone reports whether only pairs that the pass has found use the product, only this GEMM has the shape, and the result
// is not in the memory of an operand. all has the pairs.
func (m *rowScaler) alone(s *scaling, all []*scaling) bool {
	pairs, gemms := 0, 0
	for _, other := range all {
		if other.product == s.product {
			pairs++
		}
	}
	for g := range calls.Each[*calls.Gemm](m.program.Body) {
		if g.Shape == s.gemm.Shape {
			gemms++
		}
	}
	buffers := calls.ByName(m.program.Buffers)
	memory := func(name string) string {
		if b := buffers[name]; b != nil && b.In != "" {
			return b.In
		}
		return name
	}
	meets := func(name string) bool {
		return slices.ContainsFunc(s.result, func(result string) bool { return memory(name) == memory(result) })
	}
	product := buffers[s.product]
	return product != nil && product.In == "" && m.uses[s.product] == 2*pairs && gemms == 1 &&
		!slices.ContainsFunc(slices.Concat(s.scales, s.read), meets)
}

// merge lets the GEMM write the result of the kernel.
func (m *rowScaler) merge(s *scaling) {
	d := m.shapes[s.gemm.Shape]
	d.RowScales, d.TypeC = true, domain.DType(m.program.Kernel(s.kernel).Types[effects.Out])
	s.gemm.Out, s.gemm.ScalesA, s.gemm.ScalesB = s.kernel.Out.At, &s.rows, &s.columns
}

// list drops the kernels of a list that GEMMs replace. It moves the names that such a GEMM may use now before the GEMM.
func (m *rowScaler) list(list []calls.Stmt) []calls.Stmt {
	for _, s := range m.found {
		first, last := slices.Index(list, calls.Stmt(s.gemm)), slices.Index(list, calls.Stmt(s.kernel))
		if first < 0 || last < 0 {
			continue
		}
		var names, others []calls.Stmt
		for _, between := range list[first:last] {
			if namesOnly(between) {
				names = append(names, between)
			} else {
				others = append(others, between)
			}
		}
		list = slices.Concat(list[:first], names, others, list[last+1:])
	}
	return list
}
