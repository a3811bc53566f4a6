package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// RaiseReshapes moves a reshape before the kernel that computes its operand, if only kernels read the result of the
// reshape (kernels: fused). The two kernels can then be one, such as an activation and the quantization of blocks of
// 128 elements:
//
//	A = Unary(gelu, Z)           Zr = Reshape(Z)
//	Ar = Reshape(A)              Ar = Unary(gelu, Zr)
//	Q = ... Ar ...               Q = ... Ar ...
//
// The reshape moves past elementwise statements and, if it keeps the last axis, past reductions and broadcasts along
// that axis. It stops at tensors that are in memory anyway, because a statement that cannot be part of a kernel
// computes them, or because other statements read them later. There it becomes a view.
//
// Requires: every statement is local or one transfer; layouts are final.
func RaiseReshapes(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	m := &raising{links: linksOf(p.Body), program: p}
	for _, s := range slices.Clone(p.Body) {
		if r, ok := s.(*hostir.Reshape); ok && isView(r) && m.raise(r) {
			m.links = linksOf(p.Body)
		}
	}
	return nil
}

// isView reports whether a reshape gives a row-major tensor other axes without moving its elements.
func isView(r *hostir.Reshape) bool {
	return r.Out.Role == hostir.View && !hostir.MayMove(r) && r.In.Mesh == r.Out.Mesh && rowMajor(r.In) && rowMajor(r.Out)
}

// rowMajor reports whether a tensor is row-major and has neither reduced axes nor Stream axes.
func rowMajor(t *hostir.Tensor) bool {
	streamed := func(a domain.Axis) bool { return a.Kind == domain.Stream || a.Kind == domain.Reduction }
	return slices.IsSorted(hostir.Layout(t)) && !slices.ContainsFunc(t.Axes, streamed)
}

// raising moves one reshape, or several reshapes in a row.
type raising struct {
	*links
	program *hostir.Program
	reshape *hostir.Reshape                   // the last of them
	from    *hostir.Tensor                    // the operand of the first of them
	inside  map[hostir.Stmt]bool              // statements that the reshape moves past
	shaped  map[*hostir.Tensor]*hostir.Tensor // tensor -> the same elements, with the axes that the reshape gives them
	body    []hostir.Stmt                     // the statements that replace those inside and the reshape
	names   *hostir.Namer                     // nil until a view needs a name
}

// raise moves a reshape, together with the reshapes before it whose results only it reads. It reports whether it could.
func (m *raising) raise(r *hostir.Reshape) bool {
	if len(m.readers[r.Out]) == 0 || !onlyRowWise(r.Out, m.readers[r.Out]) {
		return false
	}
	m.reshape, m.from, m.body, m.names = r, r.In, nil, nil
	m.inside, m.shaped = map[hostir.Stmt]bool{}, map[*hostir.Tensor]*hostir.Tensor{}
	before, ok := m.maker[m.from].(*hostir.Reshape)
	for ; ok && isView(before) && len(m.readers[m.from]) == 1; before, ok = m.maker[m.from].(*hostir.Reshape) {
		m.inside[before], m.from = true, before.In
	}
	if len(m.from.Axes) > 0 && len(r.Out.Axes) > 0 {
		m.collect()
	}
	if !m.inside[m.maker[m.from]] || m.copied(m.from, r.Out.Axes) == nil {
		return false
	}
	m.replace()
	return true
}

// replace replaces the reshape and the statements inside by the statements of body.
func (m *raising) replace() {
	r := m.reshape
	r.Out.Role = hostir.Temp
	at := m.place[r]
	m.program.Body = slices.DeleteFunc(slices.Concat(m.program.Body[:at], m.body, m.program.Body[at+1:]), func(s hostir.Stmt) bool {
		return m.inside[s]
	})
	m.program.Tensors = slices.DeleteFunc(m.program.Tensors, func(t *hostir.Tensor) bool { return m.inside[m.maker[t]] })
	for _, s := range m.body {
		if t := hostir.Result(s); t != r.Out {
			m.program.Tensors = append(m.program.Tensors, t)
		}
	}
}

// collect finds the statements whose results only the reshape, or other such statements, read.
func (m *raising) collect() {
	r := m.reshape
	wanted := map[*hostir.Tensor]bool{m.from: true}
	for _, s := range slices.Backward(m.program.Body[:m.place[r]]) {
		out := hostir.Result(s)
		other := func(reader hostir.Stmt) bool { return reader != r && !m.inside[reader] }
		if out == nil || !wanted[out] || out.Role == hostir.Output || !m.passes(s) || slices.ContainsFunc(m.readers[out], other) {
			continue
		}
		m.inside[s] = true
		lists.Mark(wanted, hostir.Uses(s))
	}
}

// passes reports whether the reshape can move past a statement.
func (m *raising) passes(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Cast:
	case *hostir.Reduce, *hostir.Broadcast:
		if !m.keepsColumns() {
			return false
		}
	default:
		return false
	}
	other := func(t *hostir.Tensor) bool { return t.Mesh != m.from.Mesh || !rowMajor(t) }
	return rowWise(s) && !slices.ContainsFunc(hostir.Mentions(s), other)
}

// keepsColumns reports whether the reshape keeps the last axis.
func (m *raising) keepsColumns() bool {
	a, b := m.from.Axes[len(m.from.Axes)-1], m.reshape.Out.Axes[len(m.reshape.Out.Axes)-1]
	return a.Size == b.Size && a.Kind == b.Kind
}

// copied returns a tensor with the elements of t and the given axes. The results of statements inside are computed
// again with these axes. copied returns nil if that is not possible.
func (m *raising) copied(t *hostir.Tensor, axes []domain.Axis) *hostir.Tensor {
	if made := m.shaped[t]; made != nil {
		if !equalAxes(made.Axes, axes) {
			return nil
		}
		return made
	}
	if elements(t.Axes) != elements(axes) { // the reshape merges an axis of the rows with one that the tensor does not have
		return nil
	}
	s := m.maker[t]
	if !m.inside[s] {
		return m.view(t, axes)
	}
	n, operands := hostir.Clone(s), slices.Clone(hostir.Uses(s))
	for k, u := range operands {
		var of []domain.Axis
		switch n := n.(type) {
		case *hostir.Reduce:
			n.Axis, of = len(axes), append(slices.Clone(axes), u.Axes[len(u.Axes)-1])
		case *hostir.Broadcast:
			n.Axis, of = len(axes)-1, axes[:len(axes)-1]
		default:
			of = m.operandAxes(s, k, axes)
		}
		if len(of) == 0 {
			return nil
		}
		if operands[k] = m.copied(u, of); operands[k] == nil {
			return nil
		}
	}
	with, out := *t, m.reshape.Out
	if t != m.from {
		with.Axes, with.Layout, out = slices.Clone(axes), lists.Numbers(len(axes)), &with
	}
	hostir.ReplaceUses(n, operands)
	hostir.ReplaceDef(n, t, out)
	m.shaped[t], m.body = out, append(m.body, n)
	return out
}

// equalAxes compares axes without the text of their extents.
func equalAxes(a, b []domain.Axis) bool {
	return slices.EqualFunc(a, b, func(x, y domain.Axis) bool { return x.Alike(y) && x.Size == y.Size })
}

// elements returns the number of elements on all ranks together, and the number on one rank.
func elements(axes []domain.Axis) [2]int64 {
	n := [2]int64{1, 1}
	for _, a := range axes {
		n[0], n[1] = n[0]*a.Size, n[1]*a.LocalSize()
	}
	return n
}

// operandAxes returns the axes of operand k of an elementwise statement whose result gets the given axes. The operand
// has the last axes of the result, or all of them. If the reshape keeps rows, the operand may have one element in each
// row. operandAxes returns nil if the reshape merges an axis that the operand has with one that it does not have.
func (m *raising) operandAxes(s hostir.Stmt, k int, axes []domain.Axis) []domain.Axis {
	t, out, end := hostir.Uses(s)[k], hostir.Result(s), len(axes)
	lacks := len(out.Axes) - len(t.Axes)
	size, local := int64(1), int64(1)
	for i, j := range hostir.AxisMap(s)[k] {
		a := t.Axes[i]
		switch {
		case j != lacks+i:
			return nil
		case a.Size == out.Axes[j].Size:
			size, local = size*a.Size, local*a.LocalSize()
		case i == len(t.Axes)-1 && a.Size == 1 && m.keepsColumns():
			end--
		default:
			return nil
		}
	}
	first := 0
	if lacks > 0 {
		for first = end; size > 1 || local > 1; {
			if first--; first < 0 || size%axes[first].Size != 0 || local%axes[first].LocalSize() != 0 {
				return nil
			}
			size, local = size/axes[first].Size, local/axes[first].LocalSize()
		}
	}
	return slices.Concat(axes[first:end], t.Axes[len(t.Axes)-(len(axes)-end):])
}

// view returns a view of a tensor in memory, or the tensor itself if it already has the given axes. It returns nil if
// the tensor may have gaps, or if only the view would require it to be in memory.
func (m *raising) view(t *hostir.Tensor, axes []domain.Axis) *hostir.Tensor {
	if s := m.maker[t]; s != nil && rowWise(s) && t.Role != hostir.Output &&
		!slices.ContainsFunc(m.readers[t], func(r hostir.Stmt) bool { return m.place[r] > m.place[m.reshape] }) {
		return nil
	}
	if equalAxes(t.Axes, axes) {
		return t
	}
	if hostir.Is[*hostir.Positions](m.maker[t]) || t.Role == hostir.View || !rowMajor(t) {
		return nil // kernels count positions without a table of them
	}
	for _, s := range m.readers[t] { // all readers use the same view, so that their kernels can be one
		if r, ok := s.(*hostir.Reshape); ok && isView(r) && equalAxes(r.Out.Axes, axes) && m.place[r] < m.place[m.reshape] {
			return r.Out
		}
	}
	if m.names == nil {
		m.names = hostir.NewNamer(m.program)
	}
	out := m.names.Like(t, "_rows")
	out.Role, out.Axes, out.Layout, out.Inferred = hostir.View, slices.Clone(axes), lists.Numbers(len(axes)), true
	m.shaped[t] = out
	m.body = append(m.body, &hostir.Reshape{Info: hostir.InfoFrom(m.reshape, m.reshape.Meta().Note), Out: out, In: t})
	return out
}
