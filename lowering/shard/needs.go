package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// noteNeeds sets the Need of each movement between ranks: the placements before and after it, and the operation or the placement in the
// spec that requires it. A Need that package place has set for the same type of communication keeps its placements, because place knows
// the split axes of the spec.
func noteNeeds(p *hostir.Program) {
	n := &needs{hostir.SpecOf(p), hostir.Readers(p.Body)}
	for _, s := range p.Body {
		if !Moves(p, s) {
			continue
		}
		need := n.of(s)
		last := n.by(need, s)
		if placed := s.Meta().Need; placed != nil && placed.Change().Type == need.Change().Type {
			placed.By, placed.Stated = need.By, need.Stated
			continue
		}
		n.ends(need, s, last)
		s.Meta().Need = need
	}
}

type needs struct {
	spec    *hostir.Spec
	readers map[*hostir.Tensor][]hostir.Stmt
}

// of returns the Need of a movement of one step, without By.
func (n *needs) of(s hostir.Stmt) *hostir.Need {
	m := Describe(s)
	need := &hostir.Need{Tensor: n.spec.Name(s, m.In), Fn: m.Reduce, From: hostir.Whole, To: hostir.Whole}
	if m.Reduce != "" {
		need.Tensor = n.spec.Name(s, m.Out)
	}
	if !SameMesh(m.In, m.Out) {
		need.Mesh, need.ToMesh = m.In.Mesh.Name, m.Out.Mesh.Name
		return need
	}
	sh := m.Shifts[0]
	need.Axis, need.To = sh.Mesh, n.spec.Axis(need.Tensor, m.Out, sh.To)
	if need.From = n.spec.Axis(need.Tensor, m.In, sh.From); sh.Reduced {
		need.From = hostir.Partial
	} else if fold := n.folds(m.Out, sh); fold != nil {
		need.Tensor, need.Fn, need.From = n.spec.Name(fold, fold.Out), fold.Fn, hostir.Partial
	}
	return need
}

// folds returns the Reduce that reads the result of a movement and reduces the axis that the movement gathers, or nil
// if there is none.
func (n *needs) folds(out *hostir.Tensor, sh Shift) *hostir.Reduce {
	for _, s := range n.readers[out] {
		if fold, ok := s.(*hostir.Reduce); ok && fold.Axis == sh.From && sh.To == NoAxis {
			return fold
		}
	}
	return nil
}

// by sets By to the operation that reads the result of a movement, or to the tensor whose placement the spec states. It follows copies,
// and statements of the operation that makes need.Tensor, to their results. It returns the tensor that is read or that By names.
func (n *needs) by(need *hostir.Need, s hostir.Stmt) *hostir.Tensor {
	t := hostir.Result(s)
	for len(n.readers[t]) > 0 && !n.spec.Places(t) {
		s = n.readers[t][0]
		if other := slices.IndexFunc(n.readers[t], func(r hostir.Stmt) bool { return !hostir.Is[*hostir.Set](r) }); other >= 0 {
			s = n.readers[t][other]
		}
		same := n.spec.Makes(s) == need.Tensor || n.spec.Name(s, hostir.Result(s)) == need.Tensor // as a view of it
		if !hostir.Is[*hostir.Set](s) && !same {
			need.By = n.spec.Written(s)
			return t
		}
		t = hostir.Result(s)
	}
	need.By, need.Stated = n.spec.Name(s, t), true
	return t
}

// ends sets the destination of a Need to the mesh or the placement of last, the tensor that all steps together lead to.
func (n *needs) ends(need *hostir.Need, s hostir.Stmt, last *hostir.Tensor) {
	switch in := hostir.Uses(s)[0]; {
	case !SameMesh(in, last):
		need.Axis, need.Mesh, need.ToMesh = "", in.Mesh.Name, last.Mesh.Name
	case need.Axis != "" && need.Stated:
		need.To = n.spec.Axis(need.By, last, splitBy(last, need.Axis))
	case need.Axis != "":
		need.To = n.spec.Axis(need.Tensor, last, splitBy(last, need.Axis))
	}
}
