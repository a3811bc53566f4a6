// Package grad writes the backward pass of a pipeline as a spec, which computes the gradients of the inputs from the
// gradients of the outputs. Most operations and composites have rules for their gradients. The tensors of the forward pass
// that the rules read are inputs of the backward pass, or are recomputed.
package grad

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Options select the gradients to compute and the tensors of the forward pass to recompute.
type Options struct {
	// Of names the inputs whose gradients to compute. Empty: all that have a gradient, except fp8 inputs.
	Of []string
	// Recompute selects the tensors to recompute: None, Cheap (the default) or All, and names of more tensors.
	Recompute []string
	// Gradients is the fp8 type of gradients in GEMMs that quantize. Empty: the type of the forward GEMM's first operand.
	Gradients domain.DType
	// Axes gives the distribution of tensors of the forward pass over the ranks, by name. Other tensors have the
	// distribution of the model.
	Axes map[string][]domain.Axis
	// Plain writes Stream axes as plain axes, so that only the schedule decides about pipelines of the backward pass.
	Plain bool
	// Declared makes the spec declare the axes of all results of the backward pass that are not recomputed.
	Declared bool
}

// Values of Options.Recompute.
const (
	None  = "none"  // no tensors
	Cheap = "cheap" // results of operations that are not expensive (see expensive), from tensors that are saved anyway
	All   = "all"   // all tensors, from the inputs
)

// Origin is the comment in the head of each written spec that names its source.
const Origin = "Written by hirgen grad."

// Pass is a backward pass.
type Pass struct {
	Text      string          // the spec
	Forward   string          // the spec of the forward pass, with the saved tensors as outputs
	Given     []Gradient      // gradients of outputs, which are inputs of the backward pass
	Gradients []Gradient      // gradients of inputs, which are outputs of the backward pass
	Saved     []*model.Tensor // results of the forward pass that are inputs of the backward pass
}

// Gradient names the gradient of a tensor in the backward pass.
type Gradient struct {
	Name string
	Of   *model.Tensor
}

// Backward makes the backward pass of a pipeline. An error is a *diag.Errors with positions in the forward spec.
func Backward(p *model.Pipeline, o Options) (*Pass, error) {
	b := &backward{
		pipeline: p, options: o, names: newNames(p), uses: map[*model.Tensor]int{}, active: map[*model.Tensor]bool{},
		parts: map[*model.Tensor][]part{}, grads: map[*model.Tensor]value{}, known: map[string]value{}, values: map[string]value{},
		makers: map[string]*statement{}, renamed: map[string]string{}, more: map[*model.WrittenOp]*model.Tensor{},
		declared: map[string]*model.Tensor{}, parted: partedAxes(p),
	}
	b.findTargets()
	if err := b.errors.Err(); err != nil {
		return nil, err
	}
	b.follow()
	b.seed()
	for _, op := range slices.Backward(p.Written) {
		b.through(op)
	}
	if err := b.errors.Err(); err != nil {
		return nil, err
	}
	b.rename()
	b.removeUnused()
	if o.Declared {
		b.declareResults()
	}
	pass := b.pass()
	pass.Saved = b.choose()
	if err := b.errors.Err(); err != nil {
		return nil, err
	}
	pass.Text = (&writer{backward: b, Pass: pass}).spec()
	pass.Forward = (&writer{backward: b, Pass: pass}).forwardSpec()
	return pass, nil
}

// backward makes the operations of the backward pass, from the last operation of the forward pass to the first.
type backward struct {
	pipeline *model.Pipeline
	options  Options
	errors   diag.List
	names    *names

	targets []*model.Tensor        // inputs whose gradients to compute
	active  map[*model.Tensor]bool // tensors that depend on a target, and on which an output depends
	uses    map[*model.Tensor]int  // number of uses as an active operand that through has not visited yet
	parts   map[*model.Tensor][]part
	grads   map[*model.Tensor]value
	given   []Gradient // gradients of the outputs, which are inputs of the backward pass

	origin *model.WrittenOp // the operation that through visits now
	ops    []*statement
	known  map[string]value      // results of statements, by the statement's text
	values map[string]value      // all values by name
	makers map[string]*statement // statements by the names of their results
	// declared maps gradients to tensors that the spec declares: the gradient has the same distribution as the tensor.
	declared map[string]*model.Tensor
	parted   map[*model.Tensor][]int            // see partedAxes
	more     map[*model.WrittenOp]*model.Tensor // second results that the backward pass needs, and the forward pass does not have
	extra    []string                           // results that nothing reads, and that the backward spec has as outputs
	renamed  map[string]string                  // new names of results, by their old names: see callIt
}

// statement is one operation of the backward pass.
type statement struct {
	outs    []string
	fn      string
	args    []string
	attrs   []string
	origin  *model.WrittenOp // the operation of the forward pass that it is for
	forward *model.WrittenOp // the operation of the forward pass that it repeats, or nil
}

// text prints the statement without its results.
func (s *statement) text() string {
	return s.fn + "(" + strings.Join(slices.Concat(s.args, s.attrs), ", ") + ")"
}

// value is a tensor of the backward pass. A gradient may have fewer elements than its tensor: an axis of
// size one, or a missing axis at the start, means that all elements along the axis are equal.
type value struct {
	name  string
	axes  []domain.Axis
	dtype domain.DType
	mesh  *domain.Mesh
}

// rename replaces the names of results that have a new name in renamed, in all statements, grads and declared.
func (b *backward) rename() {
	name := func(old string) string {
		if renamed, ok := b.renamed[old]; ok {
			return renamed
		}
		return old
	}
	for _, s := range b.ops {
		for i := range s.args {
			s.args[i] = name(s.args[i])
		}
		for i := range s.outs {
			s.outs[i] = name(s.outs[i])
		}
	}
	for t, v := range b.grads {
		v.name = name(v.name)
		b.grads[t] = v
	}
	declared := map[string]*model.Tensor{}
	for old, t := range b.declared {
		declared[name(old)] = t
	}
	b.declared = declared
}

// declareResults declares the gradients that have all elements of their tensors, each with the axes of its tensor, and the other
// results that are not recomputed.
func (b *backward) declareResults() {
	for _, op := range b.pipeline.Written { // in program order, because several tensors may share a gradient
		for _, t := range op.Out {
			if v := b.grads[t]; b.declared[v.name] == nil && alike(v.axes, b.axes(t)) {
				b.declared[v.name] = t
			}
		}
	}
	for _, s := range b.ops {
		for _, name := range s.outs {
			if v, ok := b.values[name]; ok && s.forward == nil && b.declared[name] == nil {
				b.declared[name] = &model.Tensor{Name: name, Axes: v.axes, DType: v.dtype, Mesh: v.mesh}
			}
		}
	}
}

// pass lists the gradients that are inputs and outputs of the backward pass.
func (b *backward) pass() *Pass {
	p := &Pass{Given: b.given}
	for _, t := range b.targets {
		p.Gradients = append(p.Gradients, Gradient{b.grads[t].name, t})
	}
	return p
}

// axes returns the axes of a tensor of the forward pass without reduction axes, with its distribution over the ranks. Axes
// of partedAxes are serial.
func (b *backward) axes(t *model.Tensor) []domain.Axis {
	axes, ok := b.options.Axes[t.Name]
	if !ok {
		axes = t.Axes
	}
	axes = domain.WithoutReductions(axes)
	for i, a := range axes {
		axes[i].Extent = domain.Merge([]domain.Axis{a})
	}
	for _, axis := range b.parted[t] {
		axes[axis] = domain.Axis{Extent: axes[axis].Extent}
	}
	return axes
}

// partedAxes lists, for each operand and result of slices and concatenations, the axes along which they divide it. The
// backward spec splits no tensor over ranks along these axes.
func partedAxes(p *model.Pipeline) map[*model.Tensor][]int {
	parted := map[*model.Tensor][]int{}
	for _, op := range p.Ops {
		if op.Kind == model.OpSlice || op.Kind == model.OpConcat {
			for _, t := range append([]*model.Tensor{op.Out}, op.In...) {
				parted[t] = append(parted[t], op.Axis)
			}
		}
	}
	return parted
}

// forward returns a tensor of the forward pass as a value, which the backward pass then needs.
func (b *backward) forward(t *model.Tensor) value {
	return b.note(value{t.Name, b.axes(t), t.DType, t.Mesh})
}

// note records a value under its name, and returns it.
func (b *backward) note(v value) value {
	b.values[v.name] = v
	return v
}

// add appends a statement with its results.
func (b *backward) add(s *statement, results ...value) {
	for _, v := range results {
		b.note(v)
		b.makers[v.name] = s
		s.outs = append(s.outs, v.name)
	}
	b.ops = append(b.ops, s)
}

// named adds an operation and returns its result. If an earlier statement computes the same value, it returns that result.
// The name is a proposal.
func (b *backward) named(name string, r result) value {
	s := &statement{fn: r.fn, args: r.args, attrs: r.attrs, origin: b.origin}
	if same, ok := b.known[s.text()]; ok {
		return same
	}
	v := value{b.names.fresh(name), r.axes, r.dtype, r.mesh}
	b.add(s, v)
	b.known[s.text()] = v
	return v
}
