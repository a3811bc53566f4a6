package passes

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Bounds of the number of elements in a row. A row of at least shortestRow elements has at least 16 threads, one for
// each flag (exchange_kernel). Rows that the pass chooses have at most longestRow elements: a block computes whole
// rows, so short rows use more SMs.
const (
	shortestRow = 256
	longestRow  = 2048
)

// byRows returns a launch and a kernel that compute the same as l row by row; nil if there are none. It divides a
// kernel that computes element by element, a long row that is not reduced, or a sum of parts, into rows.
func (m *exchangeMaker) byRows(l *calls.Launch) (*calls.Launch, *calls.Kernel) {
	k, rows := m.p.Kernel(l), *l
	switch {
	case l.Kernel == "reduce" && l.Fn == "sum" && l.Axis == 0:
		return m.sumOfParts(l)
	case k == nil || k.Views || l.Elements == nil || k.Steps() == nil:
		return nil, nil
	}
	kernel := *k
	if _, folds := k.Steps().FoldsColumns(); folds {
		return nil, nil
	}
	fits := k.Columns >= shortestRow
	if k.Columns == 0 || k.InParts() {
		elements, uses := m.ofElements(l, k)
		kernel.Uses, fits = uses, uses != nil && m.cut(&rows, &kernel, elements)
	}
	if !fits {
		return nil, nil
	}
	return &rows, &kernel
}

// ofElements returns the number of elements of a kernel that reduces nothing, and the uses of its operands if its elements are cut
// into other rows. The uses are nil if the elements form several rows, or if a result does not have all elements.
func (m *exchangeMaker) ofElements(l *calls.Launch, k *calls.Kernel) (elements expr.Expr, uses []string) {
	elements, uses = l.Elements, slices.Clone(k.Uses)
	if k.InParts() {
		if rows, _ := m.values.Eval(l.Elements); rows != 1 || k.Row == nil {
			return nil, nil
		}
		elements = k.Row
	}
	for i, use := range uses {
		switch {
		case use == calls.ForElement:
		case i < int(k.Results):
			return nil, nil
		case use == calls.ForColumn:
			uses[i] = calls.ForElement
		case use == calls.ForRow:
			uses[i] = calls.ForAll
		}
	}
	return elements, uses
}

// cut divides the elements of a kernel into rows: it sets k.Columns to the length of a row, and l.Elements to the
// number of rows. The length is the largest divisor of the number of elements that is a multiple of 8 from shortestRow
// to longestRow. cut returns false if there is none.
func (m *exchangeMaker) cut(l *calls.Launch, k *calls.Kernel, elements expr.Expr) bool {
	n, known := m.values.Eval(elements)
	for row := int64(longestRow); known && row >= shortestRow; row -= 8 {
		if n%row == 0 {
			k.Columns, k.Row, l.Elements = row, nil, expr.Op("/", elements, expr.Int(row))
			return true
		}
	}
	return false
}

// sumOfParts returns a launch and its kernel, which adds dense, adjacent parts in the order of the ranks. They are nil
// if l is not such a sum, or if the parts cannot be cut into rows.
func (m *exchangeMaker) sumOfParts(l *calls.Launch) (*calls.Launch, *calls.Kernel) {
	in := l.In[0]
	if len(in.Extents) != 2 || l.OutType != l.InType {
		return nil, nil
	}
	parts, counted := m.values.Eval(in.Extents[0])
	part, known := m.values.Eval(in.Extents[1])
	distance, dense := m.values.Eval(in.Strides[0])
	if !counted || !known || !dense || distance != part || in.Strides[1] != expr.Expr(expr.Int(1)) || parts < 2 ||
		parts > mostExchanging {
		return nil, nil
	}
	k := &calls.Kernel{Name: "sum_of_parts", Results: 1, Operands: []string{"sum"}}
	if label := m.labels[l.Label]; label != nil {
		k.Where = label.Text
	}
	rows := &calls.Launch{Info: l.Info, Out: calls.Operand{At: l.Out.At}, OutType: l.OutType, InType: l.InType}
	var body domain.Body
	for i := range int(parts) {
		at := in.At
		if i > 0 {
			at.Offset = expr.Sum(at.Offset, times(i, in.Extents[1]))
			body = append(body, domain.Step{Name: fmt.Sprintf("sum_%d", i), Fn: "add", Args: []int{int(parts) + i - 2, i}})
		}
		rows.In, k.Operands = append(rows.In, calls.Operand{At: at}), append(k.Operands, fmt.Sprintf("part_%d", i))
	}
	body[0].Args[0], body[len(body)-1].Name = 0, k.Operands[0]
	k.Body = body.Text(k.Operands[1:])
	k.Types, k.Uses = slices.Repeat([]string{string(l.InType)}, len(k.Operands)), slices.Repeat([]string{calls.ForElement}, len(k.Operands))
	if !m.cut(rows, k, in.Extents[1]) {
		return nil, nil
	}
	return rows, k
}

// times returns n times an extent.
func times(n int, extent expr.Expr) expr.Expr {
	if n == 1 {
		return extent
	}
	return expr.Op("*", expr.Int(n), extent)
}
