package passes

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// explainViews adds notes that explain the numbers of strided operands. The first launch of a runtime kernel with views explains the
// form of all. The note of a program's kernel names the axes of its strides, and the axis along which an operand of positions counts.
//
//	Launch(kernel rope, ...)  # strides are along [L, kShardH], then within a row; the last operands count within a row, along L
func explainViews(p *calls.Program) {
	first := true
	for l := range calls.Each[*calls.Launch](p.Body) {
		k := p.Kernel(l)
		text := "views are {axes, {extents}, {strides}}"
		switch {
		case l.Batch != "" || l.Elements != nil || l.Kernel == "positions" || k == nil && !first:
			continue
		case k != nil:
			text = "strides are within a row" + counts(k, l)
			if len(l.Out.Extents) > 0 {
				text = fmt.Sprintf("strides are along [%s], then within a row", lists.Join(l.Out.Extents, expr.Expr.String)) + counts(k, l)
			}
		default:
			first = false
		}
		if !strings.Contains(l.Note, text) {
			l.Note = strings.TrimPrefix(l.Note+"; "+text, "; ")
		}
	}
}

// counts returns the part of a note that names the axes along which the positions of a kernel count; empty if it has none.
func counts(k *calls.Kernel, l *calls.Launch) string {
	var along []string
	for i, t := range k.Types {
		if t != calls.InPositions {
			continue
		}
		for axis, stride := range l.In[i-1].Strides {
			switch {
			case stride != expr.Int(1):
			case axis < len(l.Out.Extents):
				along = append(along, "along "+l.Out.Extents[axis].String())
			default:
				along = append(along, "within a row")
			}
		}
	}
	if len(along) == 0 {
		return ""
	}
	return "; the last operands count " + strings.Join(along, ", ")
}
