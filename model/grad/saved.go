package grad

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
)

// removeUnused drops the statements that no requested gradient depends on.
func (b *backward) removeUnused() {
	used := map[string]bool{}
	for _, t := range b.targets {
		used[b.grads[t].name] = true
	}
	for _, s := range slices.Backward(b.ops) {
		if lists.AnyIn(s.outs, used) {
			lists.Mark(used, s.args)
		}
	}
	b.ops = slices.DeleteFunc(b.ops, func(s *statement) bool {
		return !lists.AnyIn(s.outs, used)
	})
}

// expensive lists the operations whose results the option Cheap saves.
var expensive = []string{"matmul", "linear", "softmax", "log_softmax", "attention", "scatter_add", "top_k", "cumsum"}

// choose decides which results of the forward pass to save, among the results that the backward pass reads. It inserts the
// operations that recompute the other results before their first use. It returns the saved tensors, in the order of the
// forward pass, or nil after an error in the option Recompute.
func (b *backward) choose() []*model.Tensor {
	k := &keeper{b: b, producer: map[string]*model.WrittenOp{}, available: map[string]bool{}, named: map[string]bool{},
		reads: reads(b.ops)}
	if !k.read() {
		return nil
	}
	for _, t := range b.pipeline.Inputs {
		k.available[t.Name] = true
	}
	var kept []*model.Tensor
	there := maps.Clone(k.available)        // inputs, saved tensors and recomputed tensors
	for _, op := range b.pipeline.Written { // in order: a saved tensor makes later tensors cheap
		anew := k.anew(op) && !slices.ContainsFunc(op.In, func(t *model.Tensor) bool { return !there[t.Name] })
		for _, t := range b.results(op) {
			k.producer[t.Name] = op
			if k.reads[t.Name] && !anew {
				kept = append(kept, t)
				k.available[t.Name] = true
			}
			there[t.Name] = anew || k.available[t.Name]
		}
	}
	k.insert()
	return kept
}

// reads returns the names of the operands of statements.
func reads(list []*statement) map[string]bool {
	read := map[string]bool{}
	for _, s := range list {
		lists.Mark(read, s.args)
	}
	return read
}

// keeper chooses between saving and recomputing.
type keeper struct {
	b         *backward
	mode      string                      // None, Cheap or All
	named     map[string]bool             // tensors that the user chose to recompute
	producer  map[string]*model.WrittenOp // operations by the name of a result
	available map[string]bool             // inputs of the forward pass, and saved tensors
	reads     map[string]bool             // tensors that the gradients read
}

// read parses the option Recompute. It returns false after it has reported an unknown name.
func (k *keeper) read() bool {
	k.mode = Cheap
	for _, name := range k.b.options.Recompute {
		if name == None || name == Cheap || name == All {
			k.mode = name
			continue
		}
		i := slices.IndexFunc(k.b.pipeline.Tensors, func(t *model.Tensor) bool { return t.Name == name })
		if i < 0 || k.b.pipeline.Tensors[i].Producer == nil {
			k.b.errors.Add(diag.Pos{File: k.b.pipeline.File}, diag.NoGradient, "there is no result %q to compute anew", name).
				WithHint("say %s, %s, %s, or names of results", None, Cheap, All)
			return false
		}
		k.named[name] = true
	}
	return true
}

// anew reports whether the results of an operation are to be recomputed if its operands are available: because the user
// named one, or by the mode.
func (k *keeper) anew(op *model.WrittenOp) bool {
	named := slices.ContainsFunc(op.Out, func(t *model.Tensor) bool { return k.named[t.Name] })
	return named || k.mode == All || k.mode == Cheap && !slices.Contains(expensive, op.Fn)
}

// insert inserts the operations that recompute tensors, each before the first use of its result.
func (k *keeper) insert() {
	r := &repetition{keeper: k, made: map[string]bool{}}
	for _, s := range k.b.ops {
		for _, arg := range s.args {
			r.compute(arg)
		}
		r.list = append(r.list, s)
	}
	k.b.ops = k.onlyUsed(r.list)
}

// repetition makes the list of statements of the backward pass, including statements that repeat the forward pass.
type repetition struct {
	*keeper
	list []*statement
	made map[string]bool
}

// compute adds the operations that recompute a tensor of the forward pass, unless it is available.
func (r *repetition) compute(name string) {
	op := r.producer[name]
	if op == nil || r.available[name] || r.made[name] {
		return
	}
	s := &statement{fn: op.Fn, attrs: attrs(op), forward: op, origin: op}
	for _, t := range op.In {
		r.compute(t.Name)
		s.args = append(s.args, t.Name)
	}
	for _, t := range r.b.results(op) {
		s.outs = append(s.outs, t.Name)
		r.made[t.Name] = true
	}
	r.list = append(r.list, s)
}

// onlyUsed replaces a recomputed split of which some results are unused by slices for the others. Unused results of other
// recomputed operations become outputs.
func (k *keeper) onlyUsed(list []*statement) []*statement {
	used := reads(list)
	var result []*statement
	for _, s := range list {
		if s.forward == nil || s.fn != "split" || lists.AllIn(s.outs, used) {
			if result = append(result, s); s.forward != nil {
				k.b.extra = append(k.b.extra, lists.Except(s.outs, func(out string) bool { return used[out] })...)
			}
			continue
		}
		for i, out := range s.outs {
			if used[out] {
				o := s.forward.Ops[i]
				size := k.b.axes(o.Out)[o.Axis].Extent
				result = append(result, &statement{outs: []string{out}, fn: "slice", args: s.args, forward: s.forward, origin: s.origin,
					attrs: cutAttrs(o.Axis, o.Start, size)})
			}
		}
	}
	return result
}
