package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// BlocksInKernels merges a kernel and the kernel that folds blocks of its rows (kernels: fused), such as a norm and the
// quantization of each 128 elements:
//
//	N = Fused(rms_norm, X, G): ..., N = mul(Y, G)
//	B = Reshape(N)
//	Q, S = Fused(quantize, B): ..., m = max(a), ..., also S = ..., Q = div(B, S)
//
// With N: [M, K] and B: [M, K/128, 128], this becomes
//
//	Q, S = Fused(rms_norm_quantize, X, G): ..., N = mul(Y, G), ..., m = max_blocks(128, a), ..., also S = ..., Q = div(N, S)
//
// Q gets the axes of N, so the pass requires that only reshapes read Q. The merged kernel runs where the first kernel
// did. It also stores N if N is an output, or if other statements read N or B.
//
// Kernels fold blocks of 16, 32, 64 or 128 columns. The kernels stay separate if the spec rounds the main result of the
// first one: steps of a merged kernel would not see the rounding. They also stay separate if rows do not begin at
// multiples of 16 bytes, since each thread would then fold whole blocks, or if the first kernel folds nothing and its
// rows are so long that one thread block for each is slow.
//
// Requires: tensors are whole (before lower-streams); FuseElementwise has run. Pipelines do not slice the tensors.
func BlocksInKernels(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	m := &blockMerger{
		links: linksOf(p.Body), program: p, written: writtenCasts(p), dead: map[hostir.Stmt]bool{}, gone: map[*hostir.Tensor]bool{},
	}
	for _, s := range slices.Clone(p.Body) {
		if k, ok := s.(*hostir.Fused); ok {
			m.merge(k)
		}
	}
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool { return m.dead[s] })
	p.Remove(m.gone)
	return nil
}

type blockMerger struct {
	*links
	program *hostir.Program
	written map[diag.Pos]bool       // positions of casts that the spec has
	dead    map[hostir.Stmt]bool    // statements to remove
	gone    map[*hostir.Tensor]bool // tensors to remove
}

// drop marks a statement to be removed. It is no longer a reader of its operands.
func (m *blockMerger) drop(s hostir.Stmt) {
	m.dead[s] = true
	m.remove(s)
}

// merge merges a kernel that folds rows, which are the blocks, with the kernel that computes its operand, if possible.
func (m *blockMerger) merge(blocks *hostir.Fused) {
	if len(blocks.In) != 1 {
		return
	}
	view, ok := m.maker[blocks.In[0]].(*hostir.Reshape)
	if !ok || !isView(view) {
		return
	}
	maker := m.maker[view.In]
	if maker == nil || !mayBeKernel(maker) || !m.foldsBlocksOf(blocks, view.In) {
		return
	}
	from := asKernel(maker)
	wide := from.WideSteps()
	at := from.Body.Results()[slices.Index(from.Out, view.In)]
	if block := from.Body.Block(); block > 1 && block != blocks.Columns() || !wide[at] || from.FoldsRows() || from.FoldsColumns() ||
		from.Parts() > 1 || len(from.Body)+len(blocks.Body) > mostMerged || !hostir.SameAxes(from.Out[0], view.In) ||
		roundsFirst(from, m.written) || slices.ContainsFunc(from.In, startsAnywhere) ||
		from.Columns() > domain.LongestRow && !slices.ContainsFunc(from.Body, domain.Step.Folds) {
		return
	}
	kept := view.In.Role == hostir.Output || len(m.readers[view.In]) > 1 || len(m.readers[view.Out]) > 1
	m.replace(maker, blocks, view, m.merged(from, blocks, view, kept), kept)
}

// startsAnywhere reports whether rows of a kernel's operand may begin at addresses that are no multiples of 16 bytes.
func startsAnywhere(t *hostir.Tensor) bool {
	live := hostir.Live(t)
	if len(live) == 0 {
		return false
	}
	columns := t.Axes[last(live)].LocalSize()
	return columns > 1 && (t.Role == hostir.View || !slices.IsSorted(hostir.Layout(t)) || columns*t.DType.Size()%16 != 0)
}

// foldsBlocksOf reports whether a kernel folds rows that are blocks of adjacent columns of t, with several blocks in
// each row. Its results with an element for each column may only be read by reshapes, which allow other axes.
func (m *blockMerger) foldsBlocksOf(blocks *hostir.Fused, t *hostir.Tensor) bool {
	out, n := blocks.Out[0].Axes, len(t.Axes)
	counts := func(s domain.Step) bool { return len(s.Args) == 0 || s.Concats() || len(s.Args) > 2 }
	if !slices.ContainsFunc(blocks.Body, domain.Step.Folds) || blocks.FoldsRows() || blocks.Parts() > 1 || n == 0 || len(out) != n+1 ||
		blocks.Out[0].Mesh != t.Mesh || !rowMajor(t) || slices.ContainsFunc(blocks.Body, counts) || !equalAxes(out[:n-1], t.Axes[:n-1]) ||
		t.Axes[n-1].Kind != domain.Serial || out[n].Kind != domain.Serial || out[n-1].Kind != domain.Serial || out[n-1].Size < 2 ||
		!domain.CanFoldBlocks(out[n].Size) {
		return false
	}
	wide := blocks.WideSteps()
	for i, at := range blocks.Body.Results() {
		r := blocks.Out[i]
		other := slices.ContainsFunc(m.readers[r], func(s hostir.Stmt) bool { _, ok := s.(*hostir.Reshape); return !ok || hostir.MayMove(s) })
		if !rowMajor(r) || wide[at] && (r.Role != hostir.Temp || other || !equalAxes(r.Axes, out)) || !wide[at] && !equalAxes(r.Axes, out[:n]) {
			return false
		}
	}
	return true
}

// merged returns the kernel that computes what both kernels do. It stores the operand of the second kernel only if kept
// is set.
func (m *blockMerger) merged(from, blocks *hostir.Fused, view *hostir.Reshape, kept bool) *hostir.Fused {
	k := &hostir.Fused{Info: blocks.Info, Kernel: calledAfter([]string{from.Kernel, blocks.Kernel}), In: slices.Clone(from.In),
		Names: slices.Clone(from.Names), Body: slices.Clone(from.Body), Out: []*hostir.Tensor{blocks.Out[0]}}
	results, end := from.Body.Results(), len(k.Body)-1
	read := len(k.In) + results[slices.Index(from.Out, view.In)]
	k.Body[end].Also = kept || view.In != from.Out[0]
	for i, step := range k.Body {
		t := from.Out[max(0, slices.Index(results, i))]
		if step.Also && (t != view.In || kept) {
			k.Out = append(k.Out, t)
		}
		k.Body[i].Also = step.Also && (t != view.In || kept)
	}
	values, columns := []int{read}, blocks.Columns()
	also := 1
	for _, step := range blocks.Body {
		step.Args = lists.Map(step.Args, func(at int) int { return values[at] })
		if step.Folds() {
			step.Fn = domain.OverBlocks(step.Fn, columns)
		}
		values = append(values, len(k.In)+len(k.Body))
		k.Body = append(k.Body, step)
		if step.Also {
			k.Out = append(k.Out, blocks.Out[also])
			also++
		}
	}
	return k
}

// replace replaces both kernels by the merged kernel k. Results with an element for each column get the axes of view.In.
func (m *blockMerger) replace(maker, blocks hostir.Stmt, view *hostir.Reshape, k *hostir.Fused, kept bool) {
	m.gone[view.In] = !kept
	if len(m.readers[view.Out]) == 1 {
		m.drop(view)
		m.gone[view.Out] = true
	}
	for _, t := range hostir.Defs(blocks) {
		if len(t.Axes) == len(view.Out.Axes) {
			t.Axes, t.Layout = slices.Clone(view.In.Axes), lists.Numbers(len(view.In.Axes))
		}
	}
	at := m.place[maker]
	m.drop(maker)
	m.drop(blocks)
	m.program.Body[at] = k
	m.add(k, at)
}
