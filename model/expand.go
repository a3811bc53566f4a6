package model

import (
	"math"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/names"
)

// Composites are the operations that Load expands into primitive ones, so that later stages see only primitive
// operations. Most compute in fp32 and round each result once: the gradients of layer_norm and rms_norm to the types of
// their tensors, and other results to the element type of the first operand. where, clamp, split, gather and the values of top_k
// only choose elements. argmax and the indices of top_k are int32, and scatter_add is a GEMM, or a sum of single elements. quantize,
// dequantize and scaled_linear have an attribute for the type of their result.
var Composites = []string{
	"mean", "softmax", "softmax_grad", "log_softmax", "log_softmax_grad", "normalize", "normalize_grad", "layer_norm", "layer_norm_grad",
	"rms_norm", "rms_norm_grad", "rope", "rope_grad", "where", "split", "dropout", "argmax", "quantize", "dequantize", "scaled_linear",
	"gather", "scatter_add", "top_k", "cumsum", "clamp",
}

// composite returns the rule that expands a composite operation. ok is false for other names.
func composite(name string) (rule operation, ok bool) {
	switch name {
	case "mean":
		return operation{least: 1, most: 1, attrs: []string{"axis"}, expand: meanOf}, true
	case "argmax":
		return operation{least: 1, most: 1, attrs: []string{"axis"}, expand: argmax}, true
	case "softmax":
		return operation{least: 1, most: 1, attrs: []string{"axis", "causal", "split"}, expand: softmax}, true
	case "softmax_grad":
		return operation{least: 2, most: 2, attrs: []string{"axis"}, expand: softmaxGrad}, true
	case "log_softmax":
		return operation{least: 1, most: 1, attrs: []string{"axis"}, expand: logSoftmax}, true
	case "log_softmax_grad":
		return operation{least: 2, most: 2, attrs: []string{"axis"}, expand: logSoftmaxGrad}, true
	case "normalize":
		return operation{least: 1, most: 1, attrs: []string{"axis", "eps"}, expand: normalize}, true
	case "normalize_grad":
		return operation{least: 2, most: 2, attrs: []string{"axis", "eps"}, expand: normalizeGrad}, true
	case "layer_norm":
		return operation{least: 3, most: 3, attrs: []string{"eps"}, expand: layerNorm}, true
	case "layer_norm_grad":
		return operation{least: 3, most: 3, results: 3, attrs: []string{"eps"}, expand: layerNormGrad}, true
	case "rms_norm":
		return operation{least: 1, most: 2, attrs: []string{"eps"}, expand: rmsNorm}, true
	case "rms_norm_grad":
		return operation{least: 2, most: 3, results: 2, attrs: []string{"eps"}, expand: rmsNormGrad}, true
	case "rope", "rope_grad":
		return operation{least: 1, most: 3, attrs: []string{"axis", "base", "split"}, expand: rope}, true
	case "split":
		return operation{least: 1, most: 1, results: math.MaxInt, attrs: []string{"axis", "sizes"}, expand: split}, true
	case "dropout":
		return operation{least: 2, most: 2, attrs: []string{"p", "salt"}, expand: dropout}, true
	case "quantize":
		attrs := []string{"dtype", "block", "block_rows", "whole", "powers_of_two"}
		return operation{least: 1, most: 1, results: 2, attrs: attrs, expand: quantize}, true
	case "dequantize":
		return operation{least: 2, most: 2, attrs: []string{"dtype"}, expand: dequantize}, true
	case "scaled_linear":
		return operation{least: 4, most: 5, attrs: []string{"dtype"}, expand: scaledLinear}, true
	case "gather":
		return operation{least: 2, most: 2, attrs: []string{"split", "axis", "batches"}, expand: gather}, true
	case "scatter_add":
		return operation{least: 2, most: 2, attrs: []string{"rows", "blocks", "batches"}, expand: scatterAdd}, true
	case "top_k":
		return operation{least: 1, most: 1, results: 2, attrs: []string{"k"}, expand: topK}, true
	case "cumsum":
		return operation{least: 1, most: 1, attrs: []string{"axis", "exclusive", "reverse"}, expand: cumsum}, true
	case "clamp":
		return operation{least: 1, most: 1, attrs: []string{"min", "max"}, expand: clamp}, true
	case "where":
		return operation{least: 3, most: 3, expand: where}, true
	}
	return operation{}, false
}

// expansion expands one composite operation. Its checks return false after they have reported an error.
type expansion struct {
	*inference
	axis   int     // the attribute axis as an index from 0, or its default
	eps    string  // a decimal number that is added to a variance or a mean square
	base   float64 // the base of the angles of a rope
	causal bool    // mask the columns after the position of a row; see softmax
	blocks bool    // the axis before the rows counts blocks of rows
}

// takeApart expands a composite operation and adds its primitive operations. They all have the position of the
// composite.
func (a *assembler) takeApart(so *sourceOp, rule operation) {
	in := &inference{a: a, src: so, rule: rule, op: &Op{Pos: so.pos}}
	known := a.operands(so, in.op)
	e := &expansion{inference: in, axis: -1, eps: "1e-5"}
	if !in.checkCounts() || !known || !e.attributes() {
		e.broken()
		return
	}
	rule.expand(e)
}

// broken marks the results as failed, so that later errors about them are not reported.
func (e *expansion) broken() {
	for _, out := range e.src.results() {
		so := &sourceOp{out: out, pos: e.src.pos}
		if declared, ok := e.a.claimResult(so); ok {
			e.a.failed(so, declared)
		}
	}
}

// attributes reads axis, whose default is the last axis, eps and causal. It returns false after it has reported an
// error.
func (e *expansion) attributes() bool {
	axis := text{value: "-1", pos: e.src.pos}
	if attr := e.src.attr("axis"); attr != nil {
		if attr.list {
			e.a.list.Add(attr.name.pos, diag.BadAttribute, "axis is one axis, not a list")
			return false
		}
		axis = attr.values[0]
	}
	if attr := e.src.attr("eps"); attr != nil {
		if attr.list {
			e.a.list.Add(attr.name.pos, diag.BadAttribute, "eps is one number, not a list")
			return false
		}
		eps, ok := e.a.decimal(attr.values[0])
		if !ok {
			return false
		}
		if eps < 0 {
			e.a.list.Add(attr.values[0].pos, diag.BadAttribute, "eps is %s; it is at least 0", attr.values[0].value)
			return false
		}
		e.eps = attr.values[0].value
	}
	var ok bool
	if e.axis, ok = e.axisIndex(axis, len(e.axesOf(0))); !ok {
		return false
	}
	e.causal, ok = e.boolAttribute("causal")
	return ok
}

// arg returns the name of operand i in fp32. It adds a cast if the operand has another type.
func (e *expansion) arg(i int) string {
	if e.op.In[i].DType == domain.FP32 {
		return e.src.args[i].value
	}
	return e.step(e.src.args[i].value+"_fp32", "cast", []string{e.src.args[i].value}, "dtype", string(domain.FP32))
}

// step adds one operation and returns the name of its result, which starts with the name of the composite's result.
func (e *expansion) step(suffix, fn string, args []string, attrs ...string) string {
	name := e.fresh(e.src.out.value + "_" + suffix)
	e.add(name, fn, args, attrs)
	return name
}

// result adds the last operation, which computes the composite's result, and rounds to the type of the first operand.
func (e *expansion) result(fn string, args ...string) { e.resultBy(fn, args) }

// resultBy is result for an operation with attributes.
func (e *expansion) resultBy(fn string, args []string, attrs ...string) {
	if e.op.In[0].DType.IsInteger() && !e.computes(0) {
		e.broken()
		return
	}
	e.resultOf(fn, args, attrs...)
}

// resultOf is resultBy for an operation that also takes integers.
func (e *expansion) resultOf(fn string, args []string, attrs ...string) {
	if dtype := e.op.In[0].DType; dtype != domain.FP32 {
		e.add(e.src.out.value, "cast", []string{e.step(fn, fn, args, attrs...)}, []string{"dtype", string(dtype)})
		return
	}
	e.add(e.src.out.value, fn, args, attrs)
}

func (e *expansion) add(out, fn string, args, attrs []string, more ...sourceAttr) {
	at := e.src.text
	op := &sourceOp{out: at(out), fn: at(fn), attrs: more, pos: e.src.pos, whole: e.spelling()}
	for _, arg := range args {
		op.args = append(op.args, at(arg))
	}
	for i := 0; i < len(attrs); i += 2 {
		op.attrs = append(op.attrs, sourceAttr{name: at(attrs[i]), values: []text{at(attrs[i+1])}})
	}
	e.a.operation(op)
}

// spelling returns the composite as specs write it, without its result. For a part of another composite, it returns that
// composite.
func (e *expansion) spelling() string {
	if e.src.whole != "" { // it is a part of another composite
		return e.src.whole
	}
	var parts []string
	for _, arg := range e.src.args {
		parts = append(parts, arg.value)
	}
	for _, attr := range e.src.attrs {
		value := strings.Join(lists.Map(attr.values, func(v text) string { return v.value }), ", ")
		if len(attr.values) > 1 {
			value = "[" + value + "]"
		}
		parts = append(parts, attr.name.value+"="+value)
	}
	return e.src.fn.value + "(" + strings.Join(parts, ", ") + ")"
}

// fresh returns a name that the spec does not use, if necessary with a number.
func (e *expansion) fresh(name string) string {
	name = strings.TrimRight(name[:min(len(name), names.MaxLength-4)], "_")
	for n, base := 2, name; e.a.isTaken(name); n++ {
		name = base + strconv.Itoa(n)
	}
	return name
}

// isTaken reports whether a name is in use, or is the name of a later result.
func (a *assembler) isTaken(name string) bool {
	_, taken := a.scope.taken[name]
	return taken || a.claimed[name]
}
