package eval

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
)

// Saved returns operations that compute the inputs of a backward pass that a forward pass saves: O and L of each
// attention_grad. The operations compute them from its Q, K and V, if these do not depend on O and L. L is the
// log-sum-exp of each row of scores. If O and L were random, rows of probabilities would not add up to 1 but to about
// the number of keys, and cancellation would dominate the gradients. A set operation writes each of these inputs. The
// other operations are operations of the pipeline, or write tensors with new names.
func Saved(p *model.Pipeline) []*model.Op {
	s := &saver{pipeline: p, made: map[*model.Tensor]bool{}, names: map[string]bool{}}
	var waiting []*model.Op
	for _, op := range p.Ops {
		if op.Kind == model.OpAttentionGrad {
			waiting = append(waiting, op)
		}
	}
	for _, t := range p.Tensors {
		s.names[t.Name] = true
	}
	// The Q, K and V of an attention may depend on tensors that another attention has saved.
	for before := -1; before != len(waiting); {
		before = len(waiting)
		waiting = slices.DeleteFunc(waiting, func(op *model.Op) bool { return s.attention(op, waiting) })
	}
	return s.ops
}

type saver struct {
	pipeline *model.Pipeline
	ops      []*model.Op
	made     map[*model.Tensor]bool // inputs that an operation of ops writes
	names    map[string]bool        // the names of the pipeline's tensors and of new ones
}

// attention adds the forward pass of an attention_grad, if its O or L is an input, and returns true. It returns false if
// Q, K or V depend on tensors that a waiting attention saves.
func (s *saver) attention(grad *model.Op, waiting []*model.Op) bool {
	needed := s.leadingTo(grad.In[1:4])
	for _, op := range waiting {
		for _, saved := range op.In[4:] {
			if in, _ := origin(saved); in != nil && !s.made[in] && slices.Contains(needed.inputs, in) {
				return false
			}
		}
	}
	forward := &model.Op{Kind: model.OpAttention, Fn: grad.Fn, In: grad.In[1:4], Pos: grad.Pos}
	var results []*model.Op
	for i, saved := range grad.In[4:] {
		made := s.like(saved)
		if i == 0 {
			forward.Out = made
		} else {
			forward.More = append(forward.More, made)
		}
		if in, views := origin(saved); in != nil && !s.made[in] {
			s.made[in] = true
			results = append(results, s.back(made, in, views, grad)...)
		}
	}
	if len(results) > 0 {
		s.ops = slices.Concat(s.ops, needed.ops, []*model.Op{forward}, results)
	}
	return true
}

// origin follows an operand back through operations that move or cast a whole tensor, to an input. It returns nil if
// another operation computes the operand. views are the operations on the way, in reverse order.
func origin(t *model.Tensor) (input *model.Tensor, views []*model.Op) {
	for t.Producer != nil {
		switch op := t.Producer; op.Kind {
		case model.OpSet, model.OpReshape, model.OpBroadcast, model.OpPermute, model.OpCast:
			views, t = append(views, op), op.In[0]
		default:
			return nil, nil
		}
	}
	return t, views
}

// back returns operations that invert views: they compute the input in from made, a tensor like the result of the
// views.
func (s *saver) back(made, in *model.Tensor, views []*model.Op, at *model.Op) []*model.Op {
	var ops []*model.Op
	for _, view := range views {
		op := &model.Op{Kind: model.OpReshape, In: []*model.Tensor{made}, Out: s.like(view.In[0]), Pos: at.Pos}
		switch view.Kind {
		case model.OpCast:
			op.Kind = model.OpCast
		case model.OpPermute:
			op.Kind, op.Perm = model.OpPermute, make([]int, len(view.Perm))
			for i, axis := range view.Perm {
				op.Perm[axis] = i
			}
		}
		ops, made = append(ops, op), op.Out
	}
	return append(ops, &model.Op{Kind: model.OpSet, In: []*model.Tensor{made}, Out: in, Pos: at.Pos})
}

// like returns a copy of a tensor with a new name.
func (s *saver) like(t *model.Tensor) *model.Tensor {
	name := t.Name + "_saved"
	for n := 2; s.names[name]; n++ {
		name = fmt.Sprintf("%s_saved%d", t.Name, n)
	}
	s.names[name] = true
	return &model.Tensor{Name: name, DType: t.DType, Axes: t.Axes, Mesh: t.Mesh, Pos: t.Pos}
}

// needed has operations of the pipeline in order, and inputs of the pipeline: see leadingTo.
type needed struct {
	ops    []*model.Op
	inputs []*model.Tensor
}

// leadingTo returns the operations that compute tensors, except for operations in s.ops, and the inputs on which the
// tensors depend.
func (s *saver) leadingTo(tensors []*model.Tensor) (n needed) {
	wanted := map[*model.Tensor]bool{}
	lists.Mark(wanted, tensors)
	for _, op := range slices.Backward(s.pipeline.Ops) {
		if !lists.AnyIn(op.Results(), wanted) {
			continue
		}
		lists.Mark(wanted, op.In)
		if !slices.Contains(s.ops, op) {
			n.ops = append(n.ops, op)
		}
	}
	slices.Reverse(n.ops)
	for _, t := range s.pipeline.Inputs {
		if wanted[t] {
			n.inputs = append(n.inputs, t)
		}
	}
	return n
}

// save replaces the inputs that a forward pass saves by values that it computes from the other inputs.
func save(p *model.Pipeline, inputs map[string]*Array) {
	ops := Saved(p)
	if len(ops) == 0 {
		return
	}
	values := make(map[string]*Array, len(inputs))
	for _, t := range p.Inputs {
		values[t.Name] = inputs[t.Name]
	}
	singles.evaluateAll(ops, values)
	for _, t := range p.Inputs {
		inputs[t.Name] = values[t.Name]
	}
}
