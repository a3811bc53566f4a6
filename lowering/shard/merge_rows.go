package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
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
	m := &rowMerger{
		program: p, names: hostir.NewNamer(p), makers: hostir.Makers(p.Body), plan: map[*hostir.Tensor]int{},
		folds: map[hostir.Stmt]bool{}, folded: map[*hostir.Tensor]bool{}, maps: lists.Map(p.Body, hostir.AxisMap),
		merged: map[*hostir.Tensor]twoAxes{}, views: map[mergedView]*hostir.Tensor{},
	}
	if m.begin(); len(m.plan) == 0 {
		return nil
	}
	m.follow()
	m.precede()
	m.fold()
	body := p.Body
	p.Body = make([]hostir.Stmt, 0, len(body))
	for i, s := range body {
		m.statement(s, m.maps[i])
	}
	p.Remove(m.folded)
	return nil
}

// rowMerger rewrites a program for MergeRows.
type rowMerger struct {
	program *hostir.Program
	names   *hostir.Namer
	maps    [][][]int // axis map of each statement before the pass
	makers  map[*hostir.Tensor]hostir.Stmt
	plan    map[*hostir.Tensor]int  // results of statements that run on merged rows, with the first of the two axes
	folds   map[hostir.Stmt]bool    // a Reduce over merged rows, which were two axes, one after the other
	folded  map[*hostir.Tensor]bool // results of a Reduce over the first of two such axes
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

// statement appends s, on merged rows if that is planned.
func (m *rowMerger) statement(s hostir.Stmt, rows [][]int) {
	if at, planned := m.plan[hostir.Result(s)]; planned {
		m.along(s, rows, at)
		return
	}
	if m.folded[hostir.Result(s)] {
		return
	}
	if !hostir.Is[*hostir.Reshape](s) && !m.folds[s] { // a reshape takes any axes
		info := hostir.InfoFrom(s, "its rows in two axes")
		hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor { return m.apart(info, t) })
	}
	m.program.Body = append(m.program.Body, s)
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
	moveAxis(s, rows, at, -1)
	hostir.ReplaceUses(s, operands)
	out := hostir.Result(s)
	local := out
	if !isOpen(out) {
		local = m.names.Declare(out, "_merged") // not open: SplitRows gathers it, as it gathers an output
	}
	m.merge(local, at)
	hostir.ReplaceDef(s, out, local)
	m.program.Body = append(m.program.Body, s)
	if local != out {
		m.program.Body = append(m.program.Body, &hostir.Reshape{Info: info, Out: out, In: local})
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
		v.Axes, v.Layout = slices.Concat(t.Axes[:was.at], was.axes, t.Axes[was.at+1:]), spread(v.Layout, was.at)
	})
}

// view returns the view that key identifies. On the first call for a key, it appends the Reshape that makes it, and build sets its axes.
func (m *rowMerger) view(info hostir.Info, key mergedView, suffix string, build func(*hostir.Tensor)) *hostir.Tensor {
	if m.views[key] == nil {
		v := m.names.Declare(key.t, suffix)
		v.Role = viewRole(key.t)
		build(v)
		m.program.Body = append(m.program.Body, &hostir.Reshape{Info: info, Out: v, In: key.t})
		m.views[key] = v
	}
	return m.views[key]
}
