package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// begin plans merged rows for the GEMMs at which they begin.
func (m *rowMerger) begin() {
	for _, s := range m.program.Body {
		sum, reduces := s.(*hostir.Reduce)
		if !reduces || sum.Fn != "sum" || !SameMesh(sum.In, sum.Out) {
			continue
		}
		by := sum.In.Axes[sum.Axis]
		if hostir.SplitOver(by) == "" || splitBy(sum.Out, by.Mesh) != NoAxis || m.program.Choices.Names(sum.Out.Name) ||
			exchanges(m.program, sum) && m.program.Choices.Of(sum.Out.Name, schedule.Fuse) == schedule.Exchange {
			continue
		}
		at, rows := outermostRows(sum), hostir.AxisMap(sum)
		if at == NoAxis || splittable(sum.In, at, by) || !severalRows(sum.In.Axes, at) || !canMerge(sum, rows, rows[0][at]) {
			continue
		}
		if both := sum.In.Axes[at].Size * sum.In.Axes[at+1].Size; by.Size > 1 && both%by.Size == 0 {
			for _, t := range m.products(sum.In, at) {
				m.plan[t] = at
			}
		}
	}
}

// products returns the results of GEMMs from which elementwise operations make t, or t itself if a GEMM makes it. The list is nil if one
// of them cannot have merged rows.
func (m *rowMerger) products(t *hostir.Tensor, at int) (list []*hostir.Tensor) {
	maker := m.makers[t]
	if maker == nil || !isOpen(t) || !canMerge(maker, hostir.AxisMap(maker), at) {
		return nil
	}
	if hostir.IsGEMM(maker) {
		return []*hostir.Tensor{t}
	}
	for _, in := range elementwiseFrom(maker) {
		own := m.products(in, at)
		if len(own) == 0 {
			return nil
		}
		list = append(list, own...)
	}
	return list
}

// follow plans merged rows for statements that read merged rows and can run on them.
func (m *rowMerger) follow() {
	for i, s := range m.program.Body {
		out := hostir.Result(s)
		for k, t := range hostir.Uses(s) {
			from, is := m.plan[t]
			if _, planned := m.plan[out]; !is || planned || !isOpen(t) || len(m.maps[i]) <= k || !SameMesh(t, out) {
				continue
			}
			if at := m.maps[i][k][from]; at != hostir.Unmapped && canMerge(s, m.maps[i], at) {
				m.plan[out] = at
			}
		}
	}
}

// precede plans merged rows for statements that make operands of statements on merged rows, such as the norm of which a GEMM has made the
// gradient. Otherwise each rank would compute all rows of these operands. A view with both axes for other readers costs nothing.
func (m *rowMerger) precede() {
	asked := map[*hostir.Tensor]int{}
	for i, s := range slices.Backward(m.program.Body) {
		out := hostir.Result(s)
		at, runs := m.plan[out]
		if want, is := asked[out]; !runs && is && isOpen(out) && !hostir.IsGEMM(s) && canMerge(s, m.maps[i], want) {
			m.plan[out], at, runs = want, want, true
		}
		if !runs || hostir.IsGEMM(s) {
			continue
		}
		for k, t := range hostir.Uses(s) {
			if from := slices.Index(m.maps[i][k], at); from >= 0 && slices.Index(m.maps[i][k], at+1) == from+1 {
				asked[t] = from
			}
		}
	}
}

// fold plans one Reduce in place of two over both axes of rows, one after the other, as in the gradient of a norm's weight.
func (m *rowMerger) fold() {
	readers := hostir.Readers(m.program.Body)
	for _, s := range m.program.Body {
		last, reduces := s.(*hostir.Reduce)
		if !reduces {
			continue
		}
		first, reduces := m.makers[last.In].(*hostir.Reduce)
		if !reduces || !isOpen(last.In) || len(readers[last.In]) > 1 || first.Fn != last.Fn || first.Out.DType != last.Out.DType ||
			!SameMesh(last.In, last.Out) {
			continue
		}
		_, firstRuns := m.plan[first.Out] // on merged rows itself
		_, lastRuns := m.plan[last.Out]
		if firstRuns || lastRuns {
			continue
		}
		if at, planned := m.plan[first.In]; planned && isOpen(first.In) && last.Axis == at && (first.Axis == at || first.Axis == at+1) {
			m.folds[last], m.folded[first.Out], last.In = true, true, first.In
		}
	}
}

// canMerge reports whether a statement computes each row of its result, counted by axes at and at+1, from the same row of its operands, or
// from operands without these rows. It must not have to copy an operand or a declared temporary for that.
func canMerge(s hostir.Stmt, rows [][]int, at int) bool {
	out := hostir.Result(s)
	if hostir.Is[*hostir.Reshape](s) || len(rows) == 0 || len(hostir.Defs(s)) > 1 {
		return false
	}
	if !isOpen(out) && out.Role != hostir.Output || !slices.IsSorted(out.Layout) || !severalRows(out.Axes, at) {
		return false
	}
	for k, t := range hostir.Uses(s) {
		i, next := slices.Index(rows[k], at), slices.Index(rows[k], at+1)
		switch {
		case i >= 0 && !slices.IsSorted(t.Layout):
			return false
		case i < 0 && (next < 0 || t.Axes[next].Size == 1):
		case i >= 0 && next < 0 && t.Axes[i].Size == 1:
		case i >= 0 && next == i+1 && severalRows(t.Axes, i) && runsAlongRows(s, rows, k, i) && runsAlongRows(s, rows, k, next) &&
			t.Axes[i].Size == out.Axes[at].Size && t.Axes[next].Size == out.Axes[at+1].Size:
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
