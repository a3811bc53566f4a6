package fromhost

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// fused lowers a fused kernel to a Kernel of the program and its launch. There are three kinds of kernels: for
// contiguous operands of equal length, for dense rows with operands that repeat along rows or columns, and for views
// with any strides.
func (b *builder) fused(s *hostir.Fused) []calls.Stmt {
	of := b.rowsOf
	if s.FoldsColumns() {
		of = b.columnsOf
	}
	operands, w := of(s)
	body, results, read := written(s)
	k := &calls.Kernel{Results: int64(len(results))}
	for _, o := range operands {
		k.Types = append(k.Types, o.typ)
	}
	call := &calls.Launch{Info: b.computed(s, ""), On: b.current}
	elements := w.outer.then(w.row).merged()
	whole := !slices.ContainsFunc(s.Body, domain.Step.NeedsRow) && !s.FoldsColumns() // no step reduces
	seeds := seedsOf(body)
	dense := !slices.Contains(k.Types, calls.InPositions) && len(seeds) == 0
	switch {
	case whole && dense && elements.dense():
		k.Uses = slices.Repeat([]string{calls.ForElement}, len(operands))
		call.Elements = elements.extents[0].Expr
	case dense && w.dense():
		k.Columns, k.Uses = w.columns().Size, w.uses(rowsWalk.denseUse)
		call.Elements = w.rows().Expr
	default:
		if last := len(elements.extents) - 1; whole {
			w = elements.split(last)
		}
		k.Views, k.Columns, k.Axes, k.Uses = true, w.columns().Size, int64(len(w.outer.extents)), w.uses(rowsWalk.use)
	}
	for _, at := range seeds {
		k.Uses[len(results)+at] = calls.ForSeed
	}
	if s.FoldsColumns() {
		k.Uses[0] = calls.ForColumn
	}
	call.Kernel = b.kernel(s, k, body, results, read)
	k.Row = w.columns().Expr
	for i, o := range operands {
		at := calls.Operand{At: o.at}
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
	return []calls.Stmt{call}
}

// written converts the body of a kernel to its printed form. A concat becomes a result for each of its values, and
// positions become operands after the other operands. It returns the indices in body of the steps that are results, and
// the names of the operands.
func written(s *hostir.Fused) (body domain.Body, results []int, read []string) {
	read, values := slices.Clone(s.Names), make([]int, len(s.In)+len(s.Body))
	for i := range s.In {
		values[i] = i
	}
	for i, step := range s.Body {
		if _, counts := step.Positions(); counts {
			values[len(s.In)+i] = len(read)
			read = append(read, step.Name)
		}
	}
	add := func(step domain.Step) int {
		body = append(body, step)
		return len(read) + len(body) - 1
	}
	for i, step := range s.Body {
		step.Also, step.Args = false, slices.Clone(step.Args)
		for k, at := range step.Args {
			step.Args[k] = values[at]
		}
		switch _, counts := step.Positions(); {
		case step.Concats():
			for _, at := range step.Args {
				if at < len(read) || slices.Contains(results, at-len(read)) {
					at = add(domain.Step{Name: step.Name, Fn: domain.Copy, Args: []int{at}})
				}
				results = append(results, at-len(read))
			}
		case !counts:
			values[len(s.In)+i] = add(step)
		}
	}
	if len(results) == 0 {
		results = []int{len(body) - 1}
	}
	for i, step := range s.Body {
		if step.Also {
			results = append(results, values[len(s.In)+i]-len(read))
		}
	}
	return body, results, read
}

// seedsOf lists the indices of the operands that are seeds of dropouts.
func seedsOf(body domain.Body) (list []int) {
	for _, step := range body {
		if _, drops := domain.DropoutOf(step.Fn); drops {
			list = append(list, step.Args[1])
		}
	}
	return list
}

// rowsOf lists the results, operands and positions of a fused kernel, with a walk over their rows and columns.
func (b *builder) rowsOf(s *hostir.Fused) (operands []rowOperand, w rowsWalk) {
	buffers := b.operandBuffers(s, slices.Concat(s.Out, s.In)...)
	out, also, in, rows := buffers[0], buffers[1:len(s.Out)], buffers[len(s.Out):], hostir.AxisMap(s)
	outer, step := out.dims, extents.Number(0)
	if !s.FoldsRows() && len(outer) > 0 {
		outer, step = outer[:len(outer)-1], last(outer).stride
	}
	columns, wide := extents.Number(s.Columns()), s.WideSteps()
	along := func(stride func(d dim) extents.Quantity) (strides []extents.Quantity) {
		for _, d := range outer {
			strides = append(strides, stride(d))
		}
		return strides
	}
	reads := make([]extents.Quantity, len(in)) // stride of an operand along the columns
	for i, wide := range s.HasRows() {
		reads[i] = extents.Number(0)
		if dims := in[i].dims; wide && len(dims) > 0 {
			reads[i], columns = last(dims).stride, last(dims).extent
		}
	}
	for part := range s.Parts() {
		piece := out
		if s.Parts() > 1 {
			piece = out.part(s.Along(0), extents.Times(extents.Number(part), columns), columns)
		}
		operands = append(operands, rowOperand{b.pointer(piece), string(out.typ)})
		w.add(along(func(d dim) extents.Quantity { return d.stride }), step)
	}
	for i, u := range also { // a result has the axes of the first result, possibly without the last
		operands = append(operands, rowOperand{b.pointer(u), string(u.typ)})
		stride := func(d dim) extents.Quantity {
			return u.dims[slices.IndexFunc(out.dims, func(o dim) bool { return o.axis == d.axis })].stride
		}
		own := extents.Number(0)
		if wide[s.Body.Results()[i+1]] && len(u.dims) > 0 {
			own = last(u.dims).stride
		}
		w.add(along(stride), own)
	}
	for i, u := range in {
		operands = append(operands, rowOperand{b.pointer(u), string(u.typ)})
		w.add(along(func(d dim) extents.Quantity { return strideAlong(u, rows[i], d) }), reads[i])
	}
	for _, counted := range s.Body {
		if back, counts := counted.Positions(); counts {
			operands = append(operands, rowOperand{typ: calls.InPositions})
			of := func(is bool) extents.Quantity { return extents.Number(map[bool]int64{true: 1}[is]) }
			w.add(along(func(d dim) extents.Quantity { return of(back > 0 && d.axis == s.Along(back)) }), of(back == 0))
		}
	}
	w.outer.extents, w.row.extents = along(func(d dim) extents.Quantity { return d.extent }), []extents.Quantity{columns}
	w.outer = w.outer.joined()
	w.ofBlocks, w.size = s.OfBlocks(), s.Body.Block()
	return operands, w
}

// kernel declares the kernel of a statement and returns its name. Statements with the same computation, types, row
// length and indexing share a kernel, whose Where then names them all.
func (b *builder) kernel(s *hostir.Fused, k *calls.Kernel, body domain.Body, results []int, read []string) string {
	places := make([]string, len(read))
	for i := range places {
		places[i] = strconv.Itoa(i)
	}
	unnamed := slices.Clone(body)
	for i := range unnamed {
		unnamed[i].Name = strconv.Itoa(len(read) + i)
	}
	key := fmt.Sprint(k, results, unnamed.Text(places))
	if known := b.kernels[key]; known != nil {
		if also := fmt.Sprintf("%d:%d", s.Pos.Line, s.Pos.Col); !strings.Contains(known.Where, also) {
			known.Where += "; also at " + also
		}
		return known.Name
	}
	k.Name = b.names.Local(s.Kernel)
	inner := names.NewTable()
	taken := append(slices.Clone(kernelNames), names.ClassName(k.Name)) // the launch also uses the name of the body's class
	inner.Reserve(append(taken, read...)...)
	operands := make([]string, len(read))
	for i, name := range read {
		inner.Reserve(name + "_row")
		if !slices.Contains(taken, name) {
			inner.Release(name, name)
		}
		operands[i] = inner.Local(name)
	}
	for _, i := range results {
		body[i].Name = inner.Local(body[i].Name)
		if body.Reads(len(read) + i) {
			inner.Reserve(body[i].Name + "_row") // the variable for a result that steps read
		}
	}
	for i := range body {
		if !slices.Contains(results, i) {
			body[i].Name = inner.Local(body[i].Name)
		}
	}
	for _, i := range results {
		k.Operands = append(k.Operands, body[i].Name)
	}
	k.Operands = append(k.Operands, operands...)
	var of []string
	for _, ref := range b.program.Reference {
		if ref.Pos == s.Pos || slices.ContainsFunc(s.Body, func(step domain.Step) bool { return step.Name == ref.Out }) {
			of = append(of, cmp.Or(ref.Whole, ref.String()))
		}
	}
	k.Body = body.Text(operands)
	k.Where = calls.At(s.Pos, s.Kernel+": "+strings.Join(slices.Compact(of), "; "))
	b.kernels[key], b.out.Kernels = k, append(b.out.Kernels, k)
	return k.Name
}

// kernelNames are names that a printed kernel itself uses, so that its operands must not have them.
var kernelNames = []string{"kColumns", "row", "Row", "run", "Run", "fn", "rows", "elements", "parts", "stream", "where"}

// shareKernels replaces the kernels of a variant that compute the same as kernels of p by those kernels.
func shareKernels(p, variant *calls.Program) {
	for _, k := range variant.Kernels {
		at := slices.IndexFunc(p.Kernels, k.Alike)
		if at < 0 {
			continue
		}
		for l := range calls.Each[*calls.Launch](variant.Body) {
			if l.Kernel == k.Name {
				l.Kernel = p.Kernels[at].Name
			}
		}
		*k = *p.Kernels[at]
	}
}
