package passes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// explainViews adds notes that explain the numbers of strided operands. The first launch of a runtime kernel with views explains the
// form of all. The note of a program's kernel names the axes of its rows.
//
//	Launch(kernel rope, ...)  # operands are {pointer, {strides}}, with strides along [L, kShardH] and then along a row
func explainViews(p *calls.Program) {
	first := true
	for l := range calls.Each[*calls.Launch](p.Body) {
		k := p.Kernel(l)
		text := "views are {axes, {extents}, {strides}}, which may leave out axes of extent 1"
		switch {
		case l.Batch != "" || l.Elements != nil || l.Kernel == "positions" || k == nil && !first:
			continue
		case k != nil:
			text = "operands are {pointer, {stride along a row}}, and there is {1} row"
			if len(l.Out.Extents) > 0 {
				axes := lists.Join(l.Out.Extents, expr.Expr.String)
				text = fmt.Sprintf("operands are {pointer, {strides}}, with strides along [%s] and then along a row; {%[1]s} counts the rows", axes)
			}
			if slices.Contains(k.Types, calls.InPositions) {
				text += "; an operand without a pointer counts along the axis of stride 1"
			}
		default:
			first = false
		}
		if !strings.Contains(l.Note, text) {
			l.Note = strings.TrimPrefix(l.Note+"; "+text, "; ")
		}
	}
}
