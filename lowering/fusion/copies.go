package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// copyNarrow inserts a copy of a 16-bit tensor whose last axis is not innermost in memory, before a Cast that widens it
// to fp32 for kernels:
//
//	W = Cast(V)        V_rows = Set(V)
//	                   W = Cast(V_rows)
//
// The Cast can then be part of the kernels that read W, and the copy has half the bytes of W.
func (f *fuser) copyNarrow() {
	var body []hostir.Stmt
	for _, s := range f.program.Body {
		cast, ok := s.(*hostir.Cast)
		if ok && cast.Out.DType == domain.FP32 && cast.In.DType.Size() == 2 && cast.Out.Role == hostir.Temp && cast.In.Mesh == cast.Out.Mesh &&
			!hasRows(cast.In) && slices.IsSorted(hostir.Layout(cast.Out)) && hostir.SameAxes(cast.In, cast.Out) && f.inKernels(cast.Out) {
			rows := f.rowsOf(cast, cast.In, cast.Out)
			body = append(body, rows)
			cast.In = rows.Out
		}
		body = append(body, s)
	}
	f.program.Body = body
}

// inKernels reports whether a tensor has readers, and all of them may be part of a kernel.
func (f *fuser) inKernels(t *hostir.Tensor) bool {
	read := false
	for _, s := range f.program.Body {
		if slices.Contains(hostir.Uses(s), t) {
			if read = true; !rowWise(s) {
				return false
			}
		}
	}
	return read
}

// copyQuantized inserts a copy of an fp32 tensor whose last axis is not innermost in memory, before the statements that
// quantize its rows:
//
//	A = Unary(abs, V)          V_rows = Set(V)
//	m = Reduce(max, A)         A = Unary(abs, V_rows)
//	D = Binary(div, V, S)      m = Reduce(max, A)
//	                           D = Binary(div, V_rows, S)
//
// One kernel can then read the rows once. There is no copy for a division before the absolute values, by scales of the
// last call, for example. For 16 bits, copyNarrow inserts the copy before the Cast to fp32.
func (f *fuser) copyQuantized() {
	if !slices.ContainsFunc(f.program.Body, func(s hostir.Stmt) bool { return sizesOfColumns(s) != nil }) {
		return
	}
	l := linksOf(f.program.Body)
	var body []hostir.Stmt
	for _, s := range f.program.Body {
		if abs := sizesOfColumns(s); abs != nil {
			if div := l.quotientOf(abs); div != nil && !slices.Contains(body, hostir.Stmt(div)) {
				rows := f.rowsOf(abs, abs.In, abs.Out)
				body = append(body, rows)
				abs.In, div.A = rows.Out, rows.Out
			}
		}
		body = append(body, s)
	}
	f.program.Body = body
}

// sizesOfColumns returns a statement if it computes the absolute values of an fp32 tensor whose last axis is not innermost in
// memory, and nil for other statements.
func sizesOfColumns(s hostir.Stmt) *hostir.Unary {
	abs, ok := s.(*hostir.Unary)
	if ok && abs.Fn == "abs" && abs.In.DType == domain.FP32 && abs.Out.Role == hostir.Temp && !hasRows(abs.In) &&
		abs.In.Mesh == abs.Out.Mesh && slices.IsSorted(hostir.Layout(abs.Out)) && hostir.SameAxes(abs.In, abs.Out) {
		return abs
	}
	return nil
}

// quotientOf returns the statement that divides the operand of abs by a scale for each row. It returns nil if there are
// several, or if no maximum along rows is the only reader of the absolute values.
func (l *links) quotientOf(abs *hostir.Unary) (div *hostir.Binary) {
	if len(l.readers[abs.Out]) != 1 {
		return nil
	}
	if most, ok := l.readers[abs.Out][0].(*hostir.Reduce); !ok || most.Fn != "max" || !rowWise(most) {
		return nil
	}
	for _, r := range l.readers[abs.In] {
		if d, divides := r.(*hostir.Binary); divides && d.Fn == "div" && d.A == abs.In && d.B != abs.In && d.Out.Role == hostir.Temp {
			if div != nil {
				return nil
			}
			div = d
		}
	}
	return div
}

// rowsOf adds a tensor like the result of s, and returns the copy of an operand of s to it.
func (f *fuser) rowsOf(s hostir.Stmt, in, like *hostir.Tensor) *hostir.Set {
	if f.names == nil {
		f.names = hostir.NewNamer(f.program)
	}
	rows := *like
	rows.Name, rows.DType = f.names.Fresh(in.Name+"_rows"), in.DType
	f.program.Tensors = append(f.program.Tensors, &rows)
	of := hostir.InfoFrom(s, "with rows in one run of memory, which kernels read")
	return &hostir.Set{Info: of, Out: &rows, In: in}
}
