package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// findTargets finds the inputs whose gradients are requested: by default all except fp8 inputs, which are stored weights. It
// reports unknown names.
func (b *backward) findTargets() {
	if len(b.options.Of) == 0 {
		b.targets = lists.Except(b.pipeline.Inputs, func(t *model.Tensor) bool { return t.DType.Saturates() })
		return
	}
	for _, name := range b.options.Of {
		i := slices.IndexFunc(b.pipeline.Inputs, func(t *model.Tensor) bool { return t.Name == name })
		if i < 0 {
			b.errors.Add(diag.Pos{File: b.pipeline.File}, diag.NoGradient, "there is no input %q to give the gradient of", name).
				WithHint("inputs: %s", named(b.pipeline.Inputs))
			continue
		}
		b.targets = append(b.targets, b.pipeline.Inputs[i])
	}
}

// named returns the names of tensors, with commas between them.
func named(tensors []*model.Tensor) string {
	return lists.Join(tensors, func(t *model.Tensor) string { return t.Name })
}

// follow marks the tensors between the targets and the outputs as active, and counts their uses. If no gradients are
// requested by name, it leaves out targets that the outputs depend on only by operands without a gradient rule. An fp8
// operand without a rule is always followed, so that it becomes an error.
func (b *backward) follow() {
	from, to := map[*model.Tensor]bool{}, map[*model.Tensor]bool{}
	without := map[*model.Tensor]bool{} // results that have no gradient, such as L of an attention
	lists.Mark(from, b.targets)
	for _, op := range b.pipeline.Written {
		depends := false
		for i, t := range op.In {
			depends = depends || from[t] && kindOf(op, i) != constant
		}
		for i, t := range op.Out {
			from[t] = depends && hasGradient(op, i)
			without[t] = depends && !hasGradient(op, i)
		}
	}
	for _, t := range b.pipeline.Outputs {
		to[t] = !without[t]
	}
	for _, op := range slices.Backward(b.pipeline.Written) {
		wanted := lists.AnyIn(op.Out, to)
		for i, t := range op.In {
			kind := kindOf(op, i)
			if wanted && kind != constant && (kind != missing || len(b.options.Of) > 0 || t.DType.Saturates()) {
				b.checkResult(t)
				to[t] = true
			}
		}
	}
	b.dropConstants(to)
	for t := range from {
		b.active[t] = from[t] && to[t]
	}
	for _, op := range b.pipeline.Written {
		for i, t := range op.In {
			if (use{b, op, nil}).wants(i) {
				b.uses[t]++
			}
		}
	}
}

// checkResult reports an error if t, on which an output depends, is a result without a gradient, such as L of an
// attention.
func (b *backward) checkResult(t *model.Tensor) {
	if p := t.Producer; p != nil && p.Out != t && !hasGradient(&model.WrittenOp{Fn: string(p.Kind)}, 1) {
		b.errors.Add(p.Pos, diag.NoGradient, "%s has no gradient by way of its result %s, which an output depends on", p.Kind, t.Name)
	}
}

// dropConstants drops the targets that no output depends on. It reports an error for each of them that is requested by
// name, or if no target is left.
func (b *backward) dropConstants(to map[*model.Tensor]bool) {
	var kept []*model.Tensor
	for _, t := range b.targets {
		switch {
		case to[t]:
			kept = append(kept, t)
		case len(b.options.Of) > 0:
			b.errors.Add(t.Pos, diag.NoGradient, "no output changes with %s by small steps, so it has no gradient", t.Name)
		}
	}
	b.targets = kept
	if len(kept) == 0 && b.errors.Len() == 0 {
		b.errors.Add(diag.Pos{File: b.pipeline.File}, diag.NoGradient,
			"no output changes with an input by small steps, so there are no gradients")
	}
}

// use is an operation of the forward pass for which a rule adds operations to the backward pass.
type use struct {
	*backward
	*model.WrittenOp
	dy []value // gradients of the results
}

// along returns the axes of the first result.
func (u use) along() []domain.Axis { return u.axes(u.Out[0]) }

// axis returns the index of the axis along which the operation works.
func (u use) axis() int {
	for _, op := range u.Ops { // a reduction may begin with a cast, or add an axis
		if op.Kind == model.OpReduce {
			return op.Axis
		}
	}
	return u.Ops[0].Axis
}

// in returns an operand as a value of the backward pass.
func (u use) in(operand int) value { return u.forward(u.In[operand]) }

// result returns the result as a value of the backward pass.
func (u use) result() value { return u.forward(u.Out[0]) }

// whole returns the gradient of the result with all its elements.
func (u use) whole() value { return u.full(u.dy[0], u.Out[0]) }

// wants reports whether the gradient with respect to an operand is needed.
func (u use) wants(operand int) bool {
	return u.active[u.In[operand]] && kindOf(u.WrittenOp, operand) != constant &&
		lists.AnyIn(u.Out, u.active)
}

// seed makes the gradients of the active outputs, which are inputs of the backward pass.
func (b *backward) seed() {
	for _, t := range b.pipeline.Outputs {
		if b.active[t] {
			v := b.note(value{b.names.fresh("d" + t.Name), b.axes(t), b.typeOf(t), t.Mesh})
			b.given = append(b.given, Gradient{v.name, t})
			b.parts[t] = []part{{value: v}}
			if b.uses[t] == 0 {
				b.finish(t)
			}
		}
	}
}

// through adds the backward operations of one forward operation, if it is active, or reports that it has no gradient.
func (b *backward) through(op *model.WrittenOp) {
	if !lists.AnyIn(op.Out, b.active) {
		return
	}
	rule, known := rules[op.Fn]
	u := use{b, op, lists.Map(op.Out, func(t *model.Tensor) value { return b.grads[t] })}
	for i := range op.In {
		if u.wants(i) && (!known || kindOf(op, i) == missing) {
			d := b.errors.Add(op.Pos, diag.NoGradient, "%s has no gradient by %s", op.Fn, op.In[i].Name)
			if slices.Contains([]string{"quantize", "scaled_linear", "block_linear"}, op.Fn) {
				d.WithHint("linear(X, W, quantize=%s) has gradients; if W is given in 8 bits, write V = dequantize(W, T) and linear(X, V)",
					domain.FP8E4M3)
				return
			}
			d.WithHint("ask for the gradients of other inputs with --of, or write %s with operations that have one", op.Fn)
			return
		}
	}
	if b.errors.Len() > 0 {
		return
	}
	b.origin = op
	rule.apply(u)
}
