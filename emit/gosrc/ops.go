package gosrc

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// op adds a call of the builder's method for an operation, or else of Op with the text of the operation. No method
// expresses a composite, several results, a constant that is an expression, or the result type of other operations than
// cast.
func (e *exporter) op(w *model.WrittenOp) {
	by, typed := w.Attr("by"), w.Fn != "cast" && w.Attr("dtype") != nil
	if len(w.Ops) == 1 && !typed && (by == nil || domain.IsDecimal(by.Values[0])) && len(w.Out) == 1 && w.Ops[0].Whole == "" {
		if method, args := e.call(w.Ops[0]); method != "" {
			e.add(b().Dot(method).Call(args...))
			return
		}
	}
	e.add(b().Dot("Op").Call(jen.Lit(w.String())))
}

// call returns the builder's method for an operation, and its arguments. The name is empty if no method fits.
func (e *exporter) call(op *model.Op) (method string, args []jen.Code) {
	operands := []jen.Code{jen.Lit(op.Out.Name)}
	for _, in := range op.In {
		operands = append(operands, jen.Lit(in.Name))
	}
	withFn := append([]jen.Code{jen.Lit(op.Fn)}, operands...)
	switch op.Kind {
	case model.OpMatmul:
		return "Matmul", operands
	case model.OpLinear:
		return "Linear", operands
	case model.OpBroadcast:
		return "Broadcast", append(operands, jen.Lit(op.Axis))
	case model.OpPermute:
		return "Permute", append(operands, ints(op.Perm)...)
	case model.OpReshape:
		return "Reshape", append(operands, shape(op.Out)...)
	case model.OpSlice:
		size := domain.WithoutReductions(op.Out.Axes)[op.Axis].Extent
		return "Slice", append(operands, jen.Lit(op.Axis), jen.Lit(op.Start.String()), jen.Lit(size.String()))
	case model.OpPositions:
		if op.Axis < 0 {
			return "", nil
		}
		return "Positions", append(operands, jen.Lit(op.Axis))
	case model.OpDropout:
		d, _ := domain.DropoutOf(op.Fn)
		return "DropoutAt", append(operands[:1:1], append([]jen.Code{jen.Lit(d.P), jen.Lit(int(d.Salt)), jen.Lit(int(d.Width))},
			operands[1:]...)...)
	case model.OpConcat:
		return "Concat", append([]jen.Code{operands[0], jen.Lit(op.Axis)}, operands[1:]...)
	case model.OpCast:
		return "Cast", append(operands, dtype(op.Out.DType))
	case model.OpUnary:
		return unary(op, operands, withFn)
	case model.OpBinary:
		return "Binary", withFn
	case model.OpReduce:
		return "Reduce", append(withFn, jen.Lit(op.Axis))
	case model.OpSet:
		return "Set", operands
	default:
		return "", nil
	}
}

// unary returns the method and the arguments for a function of one operand: Scale, Shift or, for a function without a
// constant, Unary. The name is empty for other functions with a constant.
func unary(op *model.Op, operands, withFn []jen.Code) (method string, args []jen.Code) {
	name, constant := domain.SplitFn(op.Fn)
	by, err := strconv.ParseFloat(constant, 64)
	switch {
	case name == "scale" && err == nil:
		return "Scale", append(operands, jen.Lit(by))
	case name == "shift" && err == nil:
		return "Shift", append(operands, jen.Lit(by))
	case constant != "":
		return "", nil
	default:
		return "Unary", withFn
	}
}

// shape returns the axes of a result as arguments of Reshape. They are empty for a declared result, because the call of
// Tensor has its axes.
func shape(out *model.Tensor) []jen.Code {
	if out.Annotated {
		return nil
	}
	var axes []jen.Code
	for _, a := range out.Axes {
		if a.Kind != domain.Reduction {
			axes = append(axes, jen.Lit(a.Extent.String()))
		}
	}
	return axes
}

func ints(values []int) []jen.Code {
	list := make([]jen.Code, len(values))
	for i, v := range values {
		list[i] = jen.Lit(v)
	}
	return list
}

// number returns an untyped integer literal.
func number(n int64) jen.Code { return jen.Op(strconv.FormatInt(n, 10)) }

// dtype returns the Go constant of an element type.
func dtype(t domain.DType) jen.Code {
	return jen.Qual(domainPath, t.Constant())
}
