package passes

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// explainViews says what the numbers of strided operands are. The first view of the runtime's kernels explains the form of all. A kernel of
// the program names the axes of its strides, and along which of them an operand counts.
//
//	Launch(kernel rope, ...)  # strides are along [L, kShardH], then within a row; Rq_pairs counts within a row, Rq_at along L
func explainViews(p *calls.Program) {
	first := true
	for l := range calls.Each[*calls.Launch](p.Body) {
		k := p.Kernel(l)
		text := "views are {axes, {extents}, {strides}}"
		switch {
		case l.Batch != "" || l.Elements != nil || l.Kernel == "positions" || k == nil && !first:
			continue
		case k != nil:
			text = fmt.Sprintf("strides are along [%s], then within a row", lists.Join(l.Out.Extents, expr.Expr.String)) + counts(k, l)
		default:
			first = false
		}
		if !strings.Contains(l.Note, text) {
			l.Note = strings.TrimPrefix(l.Note+": "+text, ": ")
		}
	}
}

// counts says along which axes the positions of a kernel count.
func counts(k *calls.Kernel, l *calls.Launch) string {
	var parts []string
	for i, t := range k.Types {
		if t != calls.InPositions {
			continue
		}
		for axis, stride := range l.In[i-1].Strides {
			along := "within a row"
			if axis < len(l.Out.Extents) {
				along = "along " + l.Out.Extents[axis].String()
			}
			if stride == expr.Int(1) {
				parts = append(parts, k.Operands[i]+" counts "+along)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
