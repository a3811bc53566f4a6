package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// MergeRows merges two axes of rows into one, where the ranks cannot share the first but can share both together. For example, [B, L, E]
// becomes [B*L, E] if B is no multiple of the number of ranks. Then SplitRows can give each rank a part of the rows. No element moves.
// The merged rows begin at a GEMM whose result is summed over ranks, if each rank has the whole sum. Statements that compute each row
// from the same row of an operand run on merged rows, too. A statement that needs both axes reads a view with both.
//
// Requires: every tensor has its Device axes, and its layout.
// Establishes: if the schedule asks for point-to-point pipelines and the spec names none, such a GEMM and the statements after it have
// one axis of rows.
//
//	before: P = Linear(A, W); S = Reduce(sum, P, axis 0); Y = Binary(add, X, S)              P [DIDx(D), B, L, N], S [B, L, N]
//	after:  A_merged = Reshape(A); W_merged = Reshape(W); P = Linear(A_merged, W_merged); S = Reduce(sum, P, axis 0)
//	        X_merged = Reshape(X); Y_merged = Binary(add, X_merged, S); Y = Reshape(Y_merged)  P [DIDx(D), B*L, N], S [B*L, N]
func MergeRows(p *hostir.Program) error {
	if !namesNoPipeline(p) {
		return nil
	}
	m := &rowMerger{program: p, names: hostir.NewNamer(p), merged: map[*hostir.Tensor]twoAxes{}, views: map[mergedView]*hostir.Tensor{}}
	if m.begin = m.rowsToMerge(); len(m.begin) == 0 {
		return nil
	}
	body := p.Body
	p.Body = make([]hostir.Stmt, 0, len(body))
	maps := make([][][]int, len(body))
	for i, s := range body {
		maps[i] = hostir.AxisMap(s)
	}
	for i, s := range body {
		m.statement(s, maps[i])
	}
	return nil
}

// rowsToMerge finds the results of GEMMs at which merged rows begin, with the first of the two axes.
func (m *rowMerger) rowsToMerge() map[*hostir.Tensor]int {
	begin, makers := map[*hostir.Tensor]int{}, map[*hostir.Tensor]hostir.Stmt{}
	for _, s := range m.program.Body {
		if out := hostir.Result(s); out != nil {
			makers[out] = s
		}
		sum, reduces := s.(*hostir.Reduce)
		if !reduces || sum.Fn != "sum" || !SameMesh(sum.In, sum.Out) || !isOpen(sum.In) {
			continue
		}
		by, maker := sum.In.Axes[sum.Axis], makers[sum.In]
		if hostir.SplitOver(by) == "" || splitBy(sum.Out, by.Mesh) != NoAxis || maker == nil || !hostir.IsGEMM(maker) {
			continue
		}
		at := outermostRows(sum)
		if at == NoAxis || splittable(sum.In, at, by) || !m.canMerge(maker, hostir.AxisMap(maker), at) {
			continue
		}
		if both := sum.In.Axes[at].Size * sum.In.Axes[at+1].Size; by.Size > 1 && both%by.Size == 0 {
			begin[sum.In] = at
		}
	}
	return begin
}

// canMerge reports whether a statement computes each row of its result, counted by axes at and at+1, from the same row of its operands, or
// from operands without these rows.
func (m *rowMerger) canMerge(s hostir.Stmt, rows [][]int, at int) bool {
	out := hostir.Result(s)
	if len(rows) == 0 || len(hostir.Defs(s)) > 1 || !slices.IsSorted(out.Layout) || !severalRows(out.Axes, at) {
		return false
	}
	if hostir.IsGEMM(s) && slices.ContainsFunc(hostir.Uses(s)[1:], func(t *hostir.Tensor) bool { return m.merged[t].axes != nil }) {
		return false
	}
	for k, t := range hostir.Uses(s) {
		axes, i, next := m.axes(t), slices.Index(rows[k], at), slices.Index(rows[k], at+1)
		switch {
		case i < 0 && (next < 0 || axes[next].Size == 1):
		case i >= 0 && next < 0 && axes[i].Size == 1:
		case i >= 0 && next == i+1 && severalRows(axes, i) && runsAlongRows(s, rows, k, i) && runsAlongRows(s, rows, k, next) &&
			axes[i].Size == out.Axes[at].Size && axes[next].Size == out.Axes[at+1].Size:
		default:
			return false
		}
	}
	return true
}

// severalRows reports whether there are axes at and at+1 that are Serial and have several elements.
func severalRows(axes []domain.Axis, at int) bool {
	return at+1 < len(axes) &&
		!slices.ContainsFunc(axes[at:at+2], func(a domain.Axis) bool { return a.Kind != domain.Serial || a.Size == 1 })
}

// rowMerger rewrites a program for MergeRows.
type rowMerger struct {
	program *hostir.Program
	names   *hostir.Namer
	begin   map[*hostir.Tensor]int
	merged  map[*hostir.Tensor]twoAxes
	views   map[mergedView]*hostir.Tensor
}

// twoAxes are the axes at and at+1 of a tensor before they became one.
type twoAxes struct {
	at   int
	axes []domain.Axis
}

// mergedView identifies a view of t: with axes at and at+1 as one, or both axes again if t has merged rows, or without axis at if that is
// single.
type mergedView struct {
	t      *hostir.Tensor
	at     int
	single bool
}

// axes returns the axes that t had before the pass.
func (m *rowMerger) axes(t *hostir.Tensor) []domain.Axis {
	was, is := m.merged[t]
	if !is {
		return t.Axes
	}
	return slices.Concat(t.Axes[:was.at], was.axes, t.Axes[was.at+1:])
}

// statement appends s, on merged rows if it may run on them and an operand has them or they begin at its result.
func (m *rowMerger) statement(s hostir.Stmt, rows [][]int) {
	at, found := m.begin[hostir.Result(s)]
	for k, t := range hostir.Uses(s) {
		if in, is := m.merged[t]; is && !found && len(rows) > k {
			at = rows[k][in.at]
			found = at != hostir.Unmapped && SameMesh(t, hostir.Result(s)) && m.canMerge(s, rows, at)
		}
	}
	if _, reshapes := s.(*hostir.Reshape); reshapes { // which takes any axes
		m.program.Body = append(m.program.Body, s)
		return
	}
	if !found {
		info := hostir.InfoFrom(s, "its rows in two axes")
		hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor { return m.apart(info, t) })
		m.program.Body = append(m.program.Body, s)
		return
	}
	m.along(s, rows, at)
}

// along appends a statement whose result has one axis of rows in place of axes at and at+1.
func (m *rowMerger) along(s hostir.Stmt, rows [][]int, at int) {
	info := hostir.InfoFrom(s, "its rows in one axis")
	operands := hostir.Uses(s)
	for k, t := range operands {
		i, next := slices.Index(rows[k], at), slices.Index(rows[k], at+1)
		if in, is := m.merged[t]; is && in.at == i {
			continue
		}
		t = m.apart(info, t)
		if i >= 0 {
			t = m.together(info, mergedView{t, i, next < 0})
		}
		operands[k] = t
	}
	dropAxis(s, rows, at)
	hostir.ReplaceUses(s, operands)
	out := hostir.Result(s)
	local := out
	if !isOpen(out) {
		local = m.tensor(out, "_merged", hostir.Temp) // not open: SplitRows gathers it, as it gathers an output
	}
	m.merge(local, at)
	hostir.ReplaceDef(s, out, local)
	m.program.Body = append(m.program.Body, s)
	if local != out {
		m.program.Body = append(m.program.Body, &hostir.Reshape{Info: info, Out: out, In: local})
	}
}

// dropAxis decrements the axis field of a statement if axes at and at+1 of its result, which become one, come before that axis.
func dropAxis(s hostir.Stmt, rows [][]int, at int) {
	switch s := s.(type) {
	case *hostir.Reduce:
		if slices.Index(rows[0], at) < s.Axis {
			s.Axis--
		}
	case *hostir.Slice:
		if slices.Index(rows[0], at) < s.Axis {
			s.Axis--
		}
	case *hostir.Concat:
		if at < s.Axis {
			s.Axis--
		}
	case *hostir.Broadcast:
		if at < s.Axis {
			s.Axis--
		}
	}
}

// merge replaces two axes of t by one.
func (m *rowMerger) merge(t *hostir.Tensor, at int) {
	was := slices.Clone(t.Axes[at : at+2])
	t.Axes = slices.Replace(t.Axes, at, at+2, domain.Axis{Kind: domain.Serial, Extent: domain.Merge(was)})
	t.Layout = hostir.DropAxis(t.Layout, at+1)
	m.merged[t] = twoAxes{at, was}
}

// together returns the view of its tensor that key identifies.
func (m *rowMerger) together(info hostir.Info, key mergedView) *hostir.Tensor {
	return m.view(info, key, "_merged", func(v *hostir.Tensor) {
		if key.single {
			v.Axes, v.Layout = slices.Delete(v.Axes, key.at, key.at+1), hostir.DropAxis(v.Layout, key.at)
			return
		}
		m.merge(v, key.at)
	})
}

// apart returns t, or a view with both axes of rows if t has merged rows.
func (m *rowMerger) apart(info hostir.Info, t *hostir.Tensor) *hostir.Tensor {
	was, is := m.merged[t]
	if !is {
		return t
	}
	return m.view(info, mergedView{t: t, at: was.at}, "_apart", func(v *hostir.Tensor) {
		v.Axes, v.Layout = m.axes(t), spread(v.Layout, was.at)
	})
}

// view returns the view that key identifies. On the first call for a key, it appends the Reshape that makes it, and build sets its axes.
func (m *rowMerger) view(info hostir.Info, key mergedView, suffix string, build func(*hostir.Tensor)) *hostir.Tensor {
	if m.views[key] == nil {
		v := m.tensor(key.t, suffix, viewRole(key.t))
		build(v)
		m.program.Body = append(m.program.Body, &hostir.Reshape{Info: info, Out: v, In: key.t})
		m.views[key] = v
	}
	return m.views[key]
}

// tensor declares a tensor like t.
func (m *rowMerger) tensor(t *hostir.Tensor, suffix string, role hostir.Role) *hostir.Tensor {
	c := copier{m.program, m.names}
	n := c.like(t, suffix, slices.Clone(t.Layout))
	n.Role = role
	return n
}
