package fromhost

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/extents"
	"github.com/hirgen/hirgen/lowering/calls/names"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// fused calls a kernel of the program's own. Its operands are runs of as many elements, or rows and what
// stands for rows or for columns, or else views.
func (b *builder) fused(s *hostir.Fused) ([]calls.Stmt, error) {
	buffers, err := b.operandBuffers(s, append([]*hostir.Tensor{s.Out}, s.In...)...)
	if err != nil {
		return nil, err
	}
	w, k := rowsOf(s, buffers), &calls.Kernel{Results: 1}
	for _, u := range buffers {
		k.Types = append(k.Types, string(u.typ))
	}
	call := &calls.Launch{Info: b.info(s, s.Kernel+"_"+s.Out.Name, s.Kernel+" of "+s.Out.Name), On: b.current}
	elements := w.outer.then(w.row).merged()
	whole := !slices.ContainsFunc(s.Body, domain.Step.Folds) // rows mean nothing
	switch {
	case whole && elements.dense():
		k.Uses = slices.Repeat([]string{calls.ForElement}, len(buffers))
		call.Elements = elements.extents[0].Expr
	case w.dense():
		k.Columns, k.Uses = w.columns().Size, w.uses(rowsWalk.denseUse)
		call.Elements = w.rows().Expr
	default:
		if last := len(elements.extents) - 1; whole {
			w = elements.split(last)
		}
		k.Views, k.Columns, k.Axes, k.Uses = true, w.columns().Size, int64(len(w.outer.extents)), w.uses(rowsWalk.use)
	}
	call.Kernel = b.kernel(s, k)
	for i, buf := range buffers {
		at := calls.Operand{At: b.pointer(buf)}
		if k.Views {
			at.Strides = exprs(slices.Concat(w.outer.strides[i], w.row.strides[i]))
		}
		if i == 0 {
			call.Out = at
		} else {
			call.In = append(call.In, at)
		}
	}
	if k.Views {
		call.Out.Extents = exprs(w.outer.extents)
	}
	return []calls.Stmt{call}, nil
}

// rowsWalk is a walk over rows, and inside of them over columns, which no axis is joined with.
type rowsWalk struct{ outer, row walk }

// split takes an axis of a walk for that of the rows.
func (w walk) split(axis int) rowsWalk {
	rows := rowsWalk{walk{extents: w.extents[:axis]}, walk{extents: w.extents[axis:]}}
	for _, strides := range w.strides {
		rows.outer.strides, rows.row.strides = append(rows.outer.strides, strides[:axis]), append(rows.row.strides, strides[axis:])
	}
	return rows
}

// rowsOf aligns the operands of a fused kernel, the result first.
func rowsOf(s *hostir.Fused, buffers []*buffer) rowsWalk {
	out, in := buffers[0], buffers[1:]
	outer, row := walk{strides: make([][]extents.Quantity, len(buffers))}, walk{strides: make([][]extents.Quantity, len(buffers))}
	columns, folded := extents.Number(1), s.FoldsRows()
	for i, wide := range s.HasRows() {
		row.strides[i+1] = []extents.Quantity{extents.Number(0)}
		if last := len(in[i].dims) - 1; wide && last >= 0 {
			row.strides[i+1][0], columns = in[i].dims[last].stride, in[i].dims[last].extent
		}
	}
	row.strides[0] = []extents.Quantity{extents.Number(0)}
	for i, d := range out.dims {
		if i == len(out.dims)-1 && !folded {
			row.strides[0][0] = d.stride
			continue
		}
		outer.extents = append(outer.extents, d.extent)
		outer.strides[0] = append(outer.strides[0], d.stride)
		for k, operand := range in {
			outer.strides[k+1] = append(outer.strides[k+1], strideAlong(operand, hostir.AxisMap(s)[k], d))
		}
	}
	row.extents = []extents.Quantity{columns}
	return rowsWalk{outer.joined(), row}
}

func (w rowsWalk) columns() extents.Quantity { return w.row.extents[0] }

// rows is their number, where they are one run.
func (w rowsWalk) rows() extents.Quantity {
	if len(w.outer.extents) == 0 {
		return extents.Number(1)
	}
	return w.outer.extents[0]
}

// dense reports whether each operand has its rows one after the other, or a row or an element that
// stands for all.
func (w rowsWalk) dense() bool {
	return len(w.outer.extents) <= 1 && !slices.Contains(w.uses(rowsWalk.denseUse), "")
}

func (w rowsWalk) uses(of func(w rowsWalk, v int) string) []string {
	list := make([]string, len(w.row.strides))
	for v := range list {
		list[v] = of(w, v)
	}
	return list
}

// denseUse says what operand v has for a row; empty where that is no run of memory.
func (w rowsWalk) denseUse(v int) string {
	step, next := w.row.strides[v][0].Size, int64(1)
	switch {
	case len(w.outer.extents) == 1:
		next = w.outer.strides[v][0].Size
	case step == 1:
		next = w.columns().Size // there is one row
	}
	switch {
	case step == 1 && next == w.columns().Size:
		return calls.ForElement
	case step == 1 && next == 0:
		return calls.ForColumn
	case step == 0 && next == 1:
		return calls.ForRow
	}
	return ""
}

// use says what operand v has for a row, whatever its strides.
func (w rowsWalk) use(v int) string {
	moves := func(q extents.Quantity) bool { return q.Size != 0 }
	switch {
	case !w.columns().IsOne() && !moves(w.row.strides[v][0]):
		return calls.ForRow
	case v > 0 && len(w.outer.extents) > 0 && !slices.ContainsFunc(w.outer.strides[v], moves):
		return calls.ForColumn
	}
	return calls.ForElement
}

// kernel declares the kernel of a statement and names it. Statements that compute the same, of the same
// types and with rows of the same length, have one.
func (b *builder) kernel(s *hostir.Fused, k *calls.Kernel) string {
	places := make([]string, len(s.In))
	for i := range places {
		places[i] = strconv.Itoa(i)
	}
	body := slices.Clone(s.Body)
	for i := range body {
		body[i].Name = strconv.Itoa(len(s.In) + i)
	}
	key := fmt.Sprint(k, body.Text(places))
	if name, ok := b.kernels[key]; ok {
		return name
	}
	inner := names.NewTable()
	inner.Reserve(append(kernelNames, s.Names...)...)
	var operands, results []string
	for _, name := range s.Names {
		inner.Reserve(name + "_row")
		inner.Release(name, name)
		operands = append(operands, inner.Local(name))
	}
	for i := range body {
		body[i].Name = inner.Local(s.Body[i].Name)
	}
	for _, i := range body.Results() {
		results = append(results, body[i].Name)
	}
	k.Operands = slices.Concat(results, operands)
	k.Name, k.Body, k.Where = b.names.Local(s.Kernel), body.Text(operands), At(s.Pos, s.Kernel)
	b.kernels[key], b.out.Kernels = k.Name, append(b.out.Kernels, k)
	return k.Name
}

// kernelNames are those that the text of a kernel has for itself.
var kernelNames = []string{"row", "Row", "fn", "rows", "elements"}
