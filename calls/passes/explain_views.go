package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// explainViews adds notes that explain the strides in launches. The first launch of a runtime kernel with views, and
// the first launch of a program's kernel with strides, explain the form of all such launches. The notes of a program's
// kernels also name the axes of their rows. A text that an earlier note contains is not repeated.
//
//	Launch(kernel rope, ...)   # operands are {pointer, {strides}}, with strides along [L, kShardH] and then along a row
//	Launch(kernel rope2, ...)  # strides along [L] and then along a row
func explainViews(p *calls.Program) {
	said := map[string]bool{}
	for l := range calls.Each[*calls.Launch](p.Body) {
		k := p.Kernel(l)
		if l.Batch != "" || l.Elements != nil || l.Kernel == "positions" {
			continue
		}
		parts := []string{"views are {axes, {extents}, {strides}}; contiguous axes are merged, and axes of extent 1 may be left out"}
		if k != nil {
			parts = explainOperands(k, lists.Join(l.Out.Extents, expr.Expr.String), said)
		}
		parts = slices.DeleteFunc(parts, func(part string) bool { return said[part] })
		lists.Mark(said, parts)
		if text := strings.Join(parts, "; "); !strings.Contains(l.Note, text) {
			l.Note = strings.TrimPrefix(l.Note+"; "+text, "; ")
		}
	}
}

// form begins the note that explains the strided operands of a program's kernel.
const form = "operands are {pointer, {strides}}"

// explainOperands explains the operands of a program's kernel, whose rows have the given axes. If said has the form, an
// earlier note explains it.
func explainOperands(k *calls.Kernel, axes string, said map[string]bool) []string {
	along := "strides along [" + axes + "] and then along a row"
	parts := []string{along}
	switch {
	case axes == "":
		parts[0] = "operands are {pointer, {stride along a row}}, and there is {1} row"
	case !said[form] && !said[along]:
		said[form], said[along] = true, true
		parts[0] = form + ", with " + along + ", without axes of extent 1; {" + axes + "} counts the rows"
	}
	if slices.Contains(k.Types, calls.InPositions) {
		parts = append(parts, "an operand without a pointer counts along the axis of stride 1")
	}
	return parts
}
