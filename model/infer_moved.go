package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// explainMoved replaces the error d about different extents if the operation fits after one split axis of a declared
// tensor is moved to another index. Then the index of this axis is the cause of the error. rule is the rule of the
// operation before it was applied.
func (in *inference) explainMoved(d *diag.Diagnostic, rule operation) {
	if d.Code != diag.ShapeMismatch && d.Code != diag.ResultMismatch {
		return
	}
	candidates := slices.Clone(in.op.In)
	slices.Reverse(candidates)                    // the second operand is usually the weight
	for _, forward := range []bool{true, false} { // a split axis usually comes first
		for _, t := range append(candidates, in.out) {
			if t != nil && t.Annotated && in.explainBy(d, t, forward, rule) {
				return
			}
		}
	}
}

// explainBy tries to move a split axis of tensor t: to an earlier index if forward is true, and otherwise to a later
// one. It replaces d and returns true if the operation then fits. The last two axes of a GEMM's operand are matrices, and
// no split axis moves there: it would turn a matrix into a batch.
func (in *inference) explainBy(d *diag.Diagnostic, t *Tensor, forward bool, rule operation) bool {
	places := len(t.Axes)
	if multiplies(in.src.fn.value) {
		places -= 2
	}
	for from, axis := range t.Axes {
		for to := range t.Axes {
			moves := axis.Kind == domain.Device && from != to && forward == (to < from) && to < places
			if moves && in.fits(t, moved(t.Axes, from, to), rule) {
				in.explainMovedAxis(d, t, from, to)
				return true
			}
		}
	}
	return false
}

// fits reports whether the operation accepts its tensors if tensor t has the given axes. It reports no errors.
func (in *inference) fits(t *Tensor, axes []domain.Axis, rule operation) bool {
	other := *t
	other.Axes = axes
	swap := func(u *Tensor) *Tensor {
		if u == t {
			return &other
		}
		return u
	}
	quiet := *in.a
	quiet.list = &diag.List{}
	again := &inference{a: &quiet, src: in.src, rule: rule, op: &Op{Pos: in.op.Pos}, out: swap(in.out)}
	for _, u := range in.op.In {
		again.op.In = append(again.op.In, swap(u))
	}
	return rule.infer(again) && (again.out == nil || again.finish())
}

// explainMovedAxis replaces d by an error at the axis with the wrong index, with a hint how to declare its tensor.
func (in *inference) explainMovedAxis(d *diag.Diagnostic, t *Tensor, from, to int) {
	i := slices.IndexFunc(in.a.src.tensors, func(st *sourceTensor) bool { return st.name.value == t.Name })
	texts, part := in.a.src.tensors[i].axes, []string{}
	written := make([]string, len(texts))
	for j, text := range texts {
		written[j] = trim(text).value
		if t.Axes[j].Kind != domain.Device {
			part = append(part, written[j])
		}
	}
	list := func(axes []string) string { return "[" + strings.Join(axes, ", ") + "]" }
	verb := "take"
	if t == in.out {
		verb = "give"
	}
	before := *d
	*d = diag.Diagnostic{Pos: texts[from].pos, Code: d.Code}
	d.Say("%s does not %s %s as %s: its split axis %s is in the wrong place",
		cmp.Or(in.src.whole, in.describe()), verb, t.Name, list(written), written[from]).
		WithHint("write %s: %s; each rank's part of it is %s either way", t.Name, list(moved(written, from, to)), list(part)).
		AddNote(before.Pos, "%s", before.Message)
}

// moved returns a copy of a list in which one element has moved from index from to index to.
func moved[T any](list []T, from, to int) []T {
	rest := lists.Without(list, from)
	return slices.Insert(rest, to, list[from])
}
