package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// body checks the results and steps of a fused kernel: their operands, functions and positions. Each operand and each step must be
// used, except for steps that are results. It ignores other statements.
func (v *verifier) body(s hostir.Stmt) {
	f, ok := s.(*hostir.Fused)
	if !ok {
		return
	}
	if len(f.Body.Results()) != len(f.Out) {
		v.breach(f, "shape", "the kernel of %s has %d results and says of %d which they are", f.Out[0].Name, len(f.Out),
			len(f.Body.Results()))
		return
	}
	v.alsoMade(f)
	read := make([]bool, len(f.In)+len(f.Body))
	for i, step := range f.Body {
		if slices.ContainsFunc(f.Body[:i], func(s domain.Step) bool { return s.Name == step.Name && s.Fn != step.Fn }) {
			v.breach(f, "shape", "the kernel of %s has two steps with the name %s", f.Out[0].Name, step.Name)
		}
		if _, block, folds := step.FoldsBlocks(); folds && (block != f.Body.Block() || f.Columns()%block != 0 || f.FoldsRows()) {
			v.breach(f, "shape", "%s of %s folds blocks of %d, and a row has %d columns", step.Name, f.Out[0].Name, block, f.Columns())
		}
		read[len(f.In)+i] = step.Also
		for _, at := range step.Args {
			if at < 0 || at >= len(f.In)+i {
				v.breach(f, "shape", "%s of %s reads what is not there", step.Name, f.Out[0].Name)
				return
			}
			read[at] = true
		}
		if !step.Known() {
			v.breach(f, "shape", "%s of %s is by %q, which is no function of %d", step.Name, f.Out[0].Name, step.Fn, len(step.Args))
		}
		if back, counts := step.Positions(); counts && back > 0 && f.Along(back) == hostir.Unmapped || endsBody(step) && i < len(f.Body)-1 {
			v.breach(f, "shape", "%s of %s counts along an axis that is not there, or is in the midst of the steps", step.Name, f.Out[0].Name)
		}
	}
	if along := f.Along(0); f.Parts() > 1 && (along == hostir.Unmapped || f.Out[0].Axes[along].Size != f.Parts()*f.Columns()) {
		v.breach(f, "shape", "%s %s does not hold %d values of %d columns", f.Out[0].Name, domain.FormatAxes(f.Out[0].Axes), f.Parts(),
			f.Columns())
	}
	v.columns(f)
	if at := slices.Index(read, false); at >= 0 && at < len(read)-1 || len(f.Body) == 0 || len(f.Names) != len(f.In) {
		v.breach(f, "shape", "the kernel of %s has an operand or an operation that it does not use", f.Out[0].Name)
	}
}

// endsBody reports whether a step has to be the last one.
func endsBody(step domain.Step) bool {
	_, folds := step.FoldsColumns()
	return folds || step.Concats()
}

// alsoMade checks that the additional results of a kernel have the axes of the first result. A result with one value for each row
// has one element along the last axis, or lacks that axis. A result with one value for each block has as many elements
// there as a row has blocks. A kernel that reduces along columns has no additional
// results.
func (v *verifier) alsoMade(f *hostir.Fused) {
	rows, blocks := f.WideSteps(), f.OfBlocks()
	for i, at := range f.Body.Results() {
		first, t := *f.Out[0], f.Out[i]
		if blocks[i] {
			first = inBlocks(first, t)
		}
		narrow := false // without the axis of columns
		if i > 0 && !rows[at] && !f.FoldsRows() {
			narrow = hostir.SameAxes(t, hostir.WithoutColumns(f.Out[0]))
			first = oneColumn(first)
		}
		if !hostir.SameAxes(t, &first) && !narrow || i > 0 && f.FoldsColumns() {
			v.breach(f, "shape", "the kernel of %s %s also makes %s %s", f.Out[0].Name, domain.FormatAxes(f.Out[0].Axes), t.Name,
				domain.FormatAxes(t.Axes))
		}
	}
}

// inBlocks returns a tensor with as many elements along its last axis as blocks has.
func inBlocks(t hostir.Tensor, blocks *hostir.Tensor) hostir.Tensor {
	t, of := oneColumn(t), hostir.Live(blocks)
	if live := hostir.Live(&t); len(live) > 0 && len(of) > 0 {
		t.Axes[live[len(live)-1]].Extent = blocks.Axes[of[len(of)-1]].Extent
	}
	return t
}

// oneColumn returns a tensor with one element in its last axis.
func oneColumn(t hostir.Tensor) hostir.Tensor {
	if live := hostir.Live(&t); len(live) > 0 {
		t.Axes = slices.Clone(t.Axes)
		t.Axes[live[len(live)-1]] = domain.Axis{Extent: domain.Extent{Text: "1", Size: 1}, Kind: domain.Serial}
	}
	return t
}

// columns checks a kernel that reduces along columns. All operands with several rows have the same number of rows, and
// the result has one row. The values that the last step reduces have an element for each column. No step computes
// positions or dropout, or reduces along a row.
func (v *verifier) columns(f *hostir.Fused) {
	if !f.FoldsColumns() {
		return
	}
	out, rows := hostir.LocalShape(f.Out[0]), int64(1)
	for i, n := range out {
		if i < len(out)-1 && n > 1 {
			v.breach(f, "shape", "%s %s has several results for each column", f.Out[0].Name, domain.FormatAxes(f.Out[0].Axes))
		}
	}
	for _, t := range f.In {
		axis := hostir.RowAxis(t)
		if axis == hostir.Unmapped || t.Axes[axis].Size == 1 {
			continue
		}
		if n := t.Axes[axis].Size; rows > 1 && n != rows {
			v.breach(f, "shape", "%s folds %d rows, and %s has %d", f.Out[0].Name, rows, t.Name, n)
		} else {
			rows = n
		}
	}
	wide := f.Body.Rows(f.HasRows())
	counts := func(s domain.Step) bool {
		_, positions := s.Positions()
		_, drops := domain.DropoutOf(s.Fn)
		return positions || drops || s.NeedsRow()
	}
	if !wide[len(wide)-1] || slices.ContainsFunc(f.Body, counts) {
		v.breach(f, "shape", "%s folds columns of what has none, or counts or folds rows on the way", f.Out[0].Name)
	}
}
