package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// wish is a kind that operands or readers of a tensor want for one of its axes.
type wish struct {
	axis  int
	kind  domain.Axis
	from  *hostir.Tensor // the first operand or result that wants it
	votes int            // number of readers that want it
}

// ask records what s, a reader, wants for its open operands along axis j of its result.
func (pr *propagation) ask(s hostir.Stmt, j int) {
	out, rows := hostir.Result(s), hostir.AxisMap(s)
	if rows == nil || !places(out.Axes[j]) {
		return
	}
	operands := hostir.Uses(s)
	for k, t := range operands {
		i := slices.Index(rows[k], j)
		if i < 0 || !isOpen(t) || slices.Contains(operands[:k], t) || !SameMesh(t, out) || t.Axes[i].Size != out.Axes[j].Size {
			continue
		}
		pr.wish(t, wish{axis: i, kind: out.Axes[j], from: out})
		if maker, made := pr.makers[t]; made {
			pr.backwards.add(-maker)
		}
	}
}

// wish adds a wish for t, or another vote for an equal one.
func (pr *propagation) wish(t *hostir.Tensor, w wish) {
	list := pr.wishes[t]
	n := slices.IndexFunc(list, func(o wish) bool { return o.axis == w.axis && o.kind.Alike(w.kind) })
	if n < 0 {
		n = len(list)
		list = append(list, w)
	}
	list[n].votes++
	pr.wishes[t] = list
}

// settle makes an axis of the result of s a Stream axis if a reader wants that and give allows it, and a Device axis if
// all readers want that. If readers want contradictory Device axes, it changes nothing, and adds an error unless the result
// comes from a sum over ranks.
func (pr *propagation) settle(s hostir.Stmt) {
	out := hostir.Result(s)
	if out == nil {
		return
	}
	wishes := slices.DeleteFunc(pr.wishes[out], func(w wish) bool { return out.Axes[w.axis].Kind != domain.Serial || has(out, w.kind) })
	pr.wishes[out] = wishes
	for n, w := range wishes {
		for _, other := range wishes[:n] {
			apart := hostir.SplitOver(w.kind) != "" && hostir.SplitOver(other.kind) != "" && w.kind.Size > 1 // one rank: no split
			if apart && (other.axis == w.axis) != other.kind.Alike(w.kind) {
				if pr.summedOver(out) == "" { // what a sum makes stays whole
					pr.contradict(s, out, other, w)
				}
				return
			}
		}
	}
	for _, w := range wishes {
		if w.kind.Kind == domain.Stream || w.votes == len(pr.readers[out]) {
			pr.give(s, out, w)
		}
	}
}

// contradict adds an error: two tensors want contradictory kinds for axes of the open tensor t.
func (pr *propagation) contradict(s hostir.Stmt, t *hostir.Tensor, a, b wish) {
	pr.errors.Add(s.Meta().Pos, diag.ShardingConflict, "%s cannot lie as %s %s and as %s %s do: axis %d would be %s, and axis %d %s",
		t.Name, a.from.Name, domain.FormatAxes(a.from.Axes), b.from.Name, domain.FormatAxes(b.from.Axes),
		a.axis, a.kind, b.axis, b.kind).
		AddNote(a.from.Pos, "%s is declared here", a.from.Name).
		AddNote(b.from.Pos, "%s is declared here", b.from.Name).
		WithHint("declare %s with the axes that it shall have", t.Name)
}
