package model

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// computesIntegers returns the rule of an operation that takes integers. One kind is a reduction, or an elementwise
// function that maps whole numbers to whole numbers, if all operands except a mask have one integer type. The other is
// any elementwise function of an integer and an fp32 operand. ok is false for other operations.
func (a *assembler) computesIntegers(so *sourceOp) (rule operation, ok bool) {
	rule, ok = lookup(so.fn.value, len(so.args))
	elementwise := rule.kind == OpUnary || rule.kind == OpBinary
	if !ok || !elementwise && rule.kind != OpReduce {
		return operation{}, false
	}
	var types []domain.DType
	for i, arg := range so.args {
		t := a.tensors[arg.value]
		if t == nil {
			return operation{}, false
		}
		if i == 0 || !takesMask(so.fn.value) {
			types = append(types, t.DType)
		}
	}
	slices.Sort(types)
	types = slices.Compact(types)
	switch {
	case len(types) == 1:
		whole := rule.kind == OpReduce || domain.FunctionOf(rule.fn).Is(domain.Integers)
		ok = types[0].IsInteger() && whole
	case len(types) == 2:
		ok = types[0] == domain.FP32 && types[1].IsInteger()
	}
	rule.expand = integers
	return rule, ok
}

// takesMask reports whether the second operand of a function is a mask, which may have any type.
func takesMask(fn string) bool { return slices.Contains([]string{"keep", "drop", "masked"}, fn) }

// integers adds an operation of integers. The result has the type of the integers, unless one of two operands is fp32,
// or the result of a reduction is declared as fp32.
func integers(e *expansion) {
	fn, result := e.src.fn.value, domain.FP32
	if first := e.op.In[0].DType; first.IsInteger() && (len(e.op.In) == 1 || takesMask(fn) || e.op.In[1].DType == first) {
		result = first
	}
	if !e.whole(result) {
		e.broken()
		return
	}
	if t := e.a.tensors[e.src.out.value]; e.rule.kind == OpReduce && t != nil && t.DType == domain.FP32 {
		result = domain.FP32
	}
	var args []string
	for i := range e.op.In {
		args = append(args, e.arg(i))
	}
	e.inFP32(result, args...)
}

// inFP32 adds the operation on args, which are fp32: fp32 represents whole numbers up to 2^24 exactly. It casts the
// result to the given type.
func (e *expansion) inFP32(result domain.DType, args ...string) {
	out, fn := e.src.out.value, e.src.fn.value
	if result == domain.FP32 {
		e.add(out, fn, args, nil, e.src.attrs...)
		return
	}
	made := e.fresh(out + "_fp32")
	e.add(made, fn, args, nil, e.src.attrs...)
	e.add(out, "cast", []string{made}, []string{"dtype", string(result)})
}

// whole checks that a constant is a whole number if the result has an integer type.
func (e *expansion) whole(result domain.DType) bool {
	attr := e.src.attr("by")
	if attr == nil || attr.list || result == domain.FP32 {
		return true // inferConstant reports a list
	}
	by, ok := e.a.decimal(attr.values[0])
	if ok && by != math.Trunc(by) {
		e.a.list.Add(attr.values[0].pos, diag.BadAttribute, "%s of integers needs a whole number, not %s", e.src.fn.value, attr.values[0].value).
			WithHint("convert %s with cast(%s, dtype=%s)", e.op.In[0].Name, e.op.In[0].Name, domain.FP32)
		return false
	}
	return ok
}
