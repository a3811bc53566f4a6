package effects

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Kernels of the runtime and of the program check addresses when they are launched. If wide accesses are not aligned,
// they access single elements, or single bytes. A kernel without reductions reads one element of each operand before it
// writes the same element of its first result, which it stores last. It stores its other results before it has read all
// operands.

// views lists the operands of a kernel of the runtime. They are contiguous if the Launch has Elements; otherwise they
// have the extents and strides of the Launch.
func views(s *calls.Launch) []Operand {
	list := make([]Operand, 1+len(s.In))
	for i, o := range append([]calls.Operand{s.Out}, s.In...) {
		list[i] = Operand{Number: int16(i), At: o.At, Write: i == Out, Type: s.InType, Extents: o.Extents, Strides: o.Strides}
		list[i].Alike = s.Kernel != "reduce" && s.Kernel != calls.TopK && !s.Gathers()
		switch {
		case i == Out:
			list[i].Type = s.OutType
		case s.Kernel == calls.TopK && i == 1:
			list[i].Type, list[i].Write = domain.DType(s.Fn), true
		case s.Gathers() && i == 2:
			list[i].Type = domain.DType(s.Fn)
		case s.Gathers() && i == 3:
			list[i].Type = domain.FP32
		}
		if s.Elements != nil {
			list[i].Extents, list[i].Strides = []expr.Expr{s.Elements}, []expr.Expr{expr.Int(1)}
		}
	}
	return list
}

// rows lists the operands of a kernel of the program. Each has the axes rows and columns. With Views, it has the axes
// of the first result, and then columns.
func rows(s *calls.Launch, k *calls.Kernel) []Operand {
	operands := append([]calls.Operand{s.Out}, s.In...)
	list := make([]Operand, min(len(operands), len(k.Uses)))
	steps := k.Steps()
	elementwise := len(steps) > 0 && !slices.ContainsFunc(steps, domain.Step.NeedsRow)
	for n := range list {
		o := &list[n]
		*o = Operand{Number: int16(n), At: operands[n].At, Write: n < int(k.Results), Type: domain.DType(k.Types[n])}
		o.Alike = elementwise && k.Uses[n] == calls.ForElement && (n == Out || !o.Write)
		o.rows(s, k, operands[n].Strides)
		last := len(o.Extents) - 1
		switch use := k.Uses[n]; {
		case !o.Write:
		case use == calls.ForRow: // one element for each row
			o.Extents[last] = expr.Int(1)
		case use == calls.ForBlock:
			o.Extents[last] = expr.Int(k.Columns / steps.Block())
		case use == calls.ForColumn: // one element for each column: rows are reduced to one
			copy(o.Extents, slices.Repeat([]expr.Expr{expr.Int(1)}, last))
		}
	}
	return list
}

// rows sets the extents and strides of an operand. The extents are the rows and columns of the kernel; with Views, they
// are the extents of the first result, and then the columns. A stride is 0 along an axis on which all indices mean the
// same element.
func (o *Operand) rows(s *calls.Launch, k *calls.Kernel, strides []expr.Expr) {
	columns, one, use := expr.Expr(expr.Int(k.Columns)), expr.Expr(expr.Int(1)), k.Uses[o.Number]
	if k.Views {
		o.Extents, o.Strides = append(slices.Clone(s.Out.Extents), columns), slices.Clone(strides)
		if last := len(strides) - 1; last >= 0 && (use == calls.ForRow || use == calls.ForSeed) {
			o.Strides[last] = expr.Int(0)
		}
		return
	}
	o.Extents = []expr.Expr{one, columns}
	if k.Columns > 0 && s.Elements != nil {
		o.Extents[0] = s.Elements
	} else if s.Elements != nil {
		o.Extents[1] = s.Elements
	}
	switch use {
	case calls.ForElement:
		o.Strides = []expr.Expr{o.Extents[1], one}
	case calls.ForColumn:
		o.Strides = []expr.Expr{expr.Int(0), one}
	case calls.ForBlock:
		o.Strides = []expr.Expr{expr.Int(k.Columns / k.Steps().Block()), one}
	case calls.ForRow:
		o.Strides = []expr.Expr{one, expr.Int(0)}
	case calls.ForSeed, calls.ForAll:
		o.Strides = []expr.Expr{expr.Int(0), expr.Int(0)}
	}
}
