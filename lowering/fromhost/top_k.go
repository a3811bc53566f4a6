package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// topK launches the kernel that selects the largest elements of rows. Its views have the axes of the rows, merged where
// possible, and then an axis of columns: the selected elements in the results, and all elements of a row in the operand.
func (b *builder) topK(s *hostir.TopK) []calls.Stmt {
	buffers := b.operandBuffers(s, s.Out[0], s.Out[1], s.In)
	out, in := buffers[0], buffers[2]
	last := len(in.dims) - 1
	if len(out.dims) != last+1 || last >= maxAxes {
		refuse(internalError(s, "%s does not have the axes of %s", s.Out[0].Name, s.In.Name))
	}
	rows, columns := walk{strides: make([][]extents.Quantity, len(buffers))}, walk{extents: []extents.Quantity{out.dims[last].extent}}
	for i, u := range buffers {
		for axis := range last {
			rows.strides[i] = append(rows.strides[i], u.dims[axis].stride)
		}
		columns.strides = append(columns.strides, []extents.Quantity{u.dims[last].stride})
	}
	for _, d := range out.dims[:last] {
		rows.extents = append(rows.extents, d.extent)
	}
	w := rows.joined().then(columns)
	operand := func(i int) calls.Operand {
		return calls.Operand{At: b.pointer(buffers[i]), Extents: exprs(w.extents), Strides: exprs(w.strides[i])}
	}
	call := &calls.Launch{
		Info: b.computed(s, ""), Kernel: calls.TopK, Fn: string(s.Out[1].DType), Out: operand(0), OutType: out.typ, InType: in.typ,
		In: []calls.Operand{operand(1), operand(2)}, On: b.current,
	}
	call.In[1].Extents[len(w.extents)-1] = in.dims[last].extent.Expr
	return []calls.Stmt{call}
}
