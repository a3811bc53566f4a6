package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// excused returns the results that may be unused, because a result of their operation is used or listed as an output.
func (a *assembler) excused(listed map[string]bool) map[string]bool {
	excused := map[string]bool{}
	for _, op := range a.p.Written {
		wanted := slices.ContainsFunc(op.Out, func(t *Tensor) bool { return t != nil && (a.used[t.Name] || listed[t.Name]) })
		for _, t := range op.Out {
			if wanted && t != nil {
				excused[t.Name] = true
			}
		}
	}
	return excused
}

// dropUnused removes the primitive operations that no output needs, such as the parts of a composite that compute an unused
// result. An operation with several results stays if one of them is needed.
func (p *Pipeline) dropUnused() {
	needed := map[*Tensor]bool{}
	lists.Mark(needed, p.Outputs)
	dead := map[*Op]bool{}
	gone := map[*Tensor]bool{}
	for _, op := range slices.Backward(p.Ops) {
		results := append([]*Tensor{op.Out}, op.More...)
		if dead[op] = !lists.AnyIn(results, needed); dead[op] {
			lists.Mark(gone, results)
			continue
		}
		lists.Mark(needed, op.In)
	}
	isDead := func(op *Op) bool { return dead[op] }
	p.Ops = slices.DeleteFunc(p.Ops, isDead)
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *Tensor) bool { return gone[t] })
	for _, op := range p.Written {
		op.Ops = slices.DeleteFunc(op.Ops, isDead)
	}
}
