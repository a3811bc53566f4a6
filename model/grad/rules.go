package grad

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// rule computes the gradients with respect to the operands of an operation from the gradients of its results.
type rule struct {
	apply func(use)
	// kinds returns for an operand whether there is a gradient with respect to it. nil: there is one for all operands.
	kinds func(operand int) operandKind
	// results is how many of the results, counted from the first, have gradients; 0: all.
	results int
}

// operandKind says whether an operation has a gradient with respect to an operand.
type operandKind int

const (
	smooth   operandKind = iota // the rule computes it
	constant                    // it is zero or does not exist: a mask, a step, positions
	missing                     // there is no rule for it
)

// rules has a rule for each operation that has gradients, or whose gradients are all zero. init adds rules for the rows of
// domain.Functions with a Gradient.
var rules map[string]rule

func init() {
	rules = map[string]rule{
		"set":         {apply: same},
		"cast":        {apply: same},
		"shift":       {apply: same},
		"matmul":      {apply: matmul},
		"linear":      {apply: linear},
		"broadcast":   {apply: broadcast},
		"permute":     {apply: permute},
		"reshape":     {apply: reshape},
		"slice":       {apply: slice},
		"split":       {apply: split},
		"concat":      {apply: concat},
		"positions":   {kinds: allConstant},
		"argmax":      {kinds: allConstant},
		"scale":       {apply: scale},
		"clamp":       {apply: clamp},
		"clamp_min":   {apply: clamp},
		"clamp_max":   {apply: clamp},
		"add":         {apply: add},
		"sub":         {apply: sub},
		"mul":         {apply: mul},
		"div":         {apply: div},
		"max":         {apply: extreme},
		"min":         {apply: extreme},
		"keep":        {apply: chosen("keep"), kinds: constantAt(1)},
		"drop":        {apply: chosen("drop"), kinds: constantAt(1)},
		"masked":      {apply: chosen("keep"), kinds: constantAt(1)},
		"sum":         {apply: sum},
		"mean":        {apply: mean},
		"prod":        {apply: prod},
		"softmax":     {apply: rows("softmax_grad", ofResult)},
		"log_softmax": {apply: rows("log_softmax_grad", ofResult)},
		"normalize":   {apply: rows("normalize_grad", ofOperand)},
		"rms_norm":    {apply: norm("rms_norm_grad")},
		"layer_norm":  {apply: norm("layer_norm_grad")},
		"rope":        {apply: rope("rope_grad"), kinds: tables},
		"rope_grad":   {apply: rope("rope"), kinds: tables},
		"where":       {apply: where, kinds: constantAt(0)},
		"gather":      {apply: gather},
		"scatter_add": {apply: scatterAdd},
		"top_k":       {apply: topK, results: 1},
		"cumsum":      {apply: cumsum},
		"dropout":     {apply: dropout, kinds: constantFrom(1)},
		"dropout_at":  {apply: dropout, kinds: constantFrom(1)},
		"attention":   {apply: attention, results: 1},
	}
	for _, f := range domain.Functions {
		if f.Gradient == domain.NoGradient {
			rules[f.Name] = rule{kinds: allConstant}
		} else if f.Gradient != "" {
			rules[f.Name] = rule{apply: formula(f.Gradient)}
		}
	}
}

func allConstant(int) operandKind { return constant }

func constantAt(operand int) func(int) operandKind {
	return func(i int) operandKind {
		if i == operand {
			return constant
		}
		return smooth
	}
}

func constantFrom(operand int) func(int) operandKind {
	return func(i int) operandKind {
		if i >= operand {
			return constant
		}
		return smooth
	}
}

// tables returns the kind of an operand of a rope. There is no rule for cosines and sines, or for positions.
func tables(operand int) operandKind {
	if operand > 0 {
		return missing
	}
	return smooth
}

// kindOf returns the kind of an operand: whether the operation has a gradient with respect to it.
func kindOf(op *model.WrittenOp, operand int) operandKind {
	switch of := op.In[operand].DType; {
	case of.IsInteger():
		return constant
	case of.Saturates() && (op.Fn == "matmul" || op.Fn == "linear"):
		return missing
	}
	if r, ok := rules[op.Fn]; ok && r.kinds != nil {
		return r.kinds(operand)
	}
	return smooth
}

// hasGradient reports whether an operation may have a gradient by way of a result, given by its index. It is false for L
// of an attention and for the indices of top_k.
func hasGradient(op *model.WrittenOp, result int) bool {
	r := rules[op.Fn]
	return r.results == 0 || result < r.results
}

// like returns an operation of the backward pass with the type of its first operand. Its result has the stretched axes of
// the operands.
func like(fn string, a value, more ...value) result {
	r := result{fn: fn, args: []string{a.name}, axes: a.axes, dtype: a.dtype, mesh: a.mesh}
	for _, v := range more {
		r.args = append(r.args, v.name)
		r.axes = stretch(r.axes, v.axes)
	}
	return r
}

// with returns the operation with more attributes.
func (r result) with(attrs ...string) result {
	r.attrs = append(slices.Clip(r.attrs), attrs...)
	return r
}

// reading returns the operation with tensors of the forward pass as more operands. They do not change the axes of the
// result.
func (r result) reading(b *backward, more ...*model.Tensor) result {
	for _, t := range more {
		r.args = append(r.args, b.forward(t).name)
	}
	return r
}

// along returns the operation with other axes of its result.
func (r result) along(axes []domain.Axis) result {
	r.axes = axes
	return r
}

// axisAttr prints the attribute axis: "axis=1".
func axisAttr(n int) string { return "axis=" + strconv.Itoa(n) }

// shapeAttr prints the attribute shape: "shape=[M, K]".
func shapeAttr(axes []domain.Axis) string {
	return "shape=[" + lists.Join(axes, func(a domain.Axis) string { return a.Extent.String() }) + "]"
}

// attrs returns the attributes of an operation of the forward pass as text, except those with the given names.
func attrs(op *model.WrittenOp, without ...string) []string {
	var texts []string
	for _, a := range op.Attrs {
		if !slices.Contains(without, a.Name) {
			texts = append(texts, a.String())
		}
	}
	return texts
}
