package soak

import (
	"slices"
	"time"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Shrink reduces the spec of a finding as long as a finding of the same shape remains, and until limit has passed.
func Shrink(f *Finding, examine func(Spec) *Finding, limit time.Duration) *Finding {
	deadline, shape := time.Now().Add(limit), f.Shape()
	for smaller := true; smaller; {
		smaller = false
		for _, spec := range smallerSpecs(f.Spec) {
			if time.Now().After(deadline) {
				return f
			}
			if g := examine(spec); g != nil && g.Shape() == shape {
				g.Number = f.Number
				f, smaller = g, true
				break
			}
		}
	}
	return f
}

// smallerSpecs returns smaller specs, those with fewer operations first. hirgen may refuse them.
func smallerSpecs(s Spec) []Spec {
	var smaller []Spec
	for _, reduce := range []func(Spec, func(func(*Spec))){fewerOps, lessSchedule, fewerRanks, smallerExtents, plainerTensors} {
		reduce(s, func(change func(*Spec)) {
			c := s.Clone()
			c.Legal = false
			if change(&c); len(c.Ops) > 0 && c.Text() != s.Text() {
				smaller = append(smaller, c)
			}
		})
	}
	return smaller
}

// fewerOps proposes to keep only the operations that one result needs, to remove one operation, or to replace its
// results by inputs.
func fewerOps(s Spec, propose func(func(*Spec))) {
	axes := inferred(s)
	for i, op := range s.Ops {
		propose(func(c *Spec) { c.need(op.Out) })
		without := func(c *Spec) { c.Ops, c.Outputs = slices.Delete(c.Ops, i, i+1), nil }
		if len(axes) > 0 {
			propose(func(c *Spec) {
				without(c)
				for _, result := range op.Results() {
					c.give(axes[result])
				}
				c.prune()
			})
		}
		propose(func(c *Spec) {
			without(c)
			c.prune()
		})
	}
}

// give declares the result of a removed operation as an input.
func (s *Spec) give(t Tensor) {
	if s.declared(t.Name) < 0 {
		s.Tensors = append(s.Tensors, t)
	}
	at := s.declared(t.Name)
	s.Tensors[at].Axes = domain.WithoutReductions(s.Tensors[at].Axes)
}

// inferred returns the tensors of a spec as they would be declared, or none if the spec is refused.
func inferred(s Spec) map[string]Tensor {
	tensors := map[string]Tensor{}
	p, err := model.Load("spec.yaml", []byte(s.Text()), nil)
	if err != nil {
		return tensors
	}
	for _, t := range p.Tensors {
		tensors[t.Name] = tensorOf(p, t)
	}
	return tensors
}

// need keeps the operations that a result needs.
func (s *Spec) need(out string) {
	want := map[string]bool{out: true}
	s.Outputs = nil
	var ops []Op
	for _, op := range slices.Backward(s.Ops) {
		if lists.AnyIn(op.Results(), want) {
			ops = append(ops, op)
			lists.Mark(want, op.In)
		}
	}
	slices.Reverse(ops)
	s.Ops = ops
	s.prune()
}

// prune drops declared tensors that nothing reads or makes.
func (s *Spec) prune() {
	used := map[string]bool{}
	for _, op := range s.Ops {
		lists.Mark(used, append(op.Results(), op.In...))
	}
	s.Tensors = slices.DeleteFunc(s.Tensors, func(t Tensor) bool { return !used[t.Name] })
}

func lessSchedule(s Spec, propose func(func(*Spec))) {
	propose(func(c *Spec) { c.Schedule = nil })
	for i := range s.Schedule {
		propose(func(c *Spec) { c.Schedule = slices.Delete(c.Schedule, i, i+1) })
	}
}

// fewerRanks proposes to drop an axis of the world, or to drop another mesh and put its tensors on the world. It also
// proposes to number the ranks of another mesh in order, with or without giving the axes of that mesh to the world.
func fewerRanks(s Spec, propose func(func(*Spec))) {
	for i, a := range s.World.Axes {
		if len(s.World.Axes) == 1 {
			break
		}
		propose(func(c *Spec) {
			c.World.Axes = slices.Delete(c.World.Axes, i, i+1)
			for _, t := range c.Tensors {
				for i, axis := range t.Axes {
					if axis.Kind == domain.Device && axis.Mesh == a.Name {
						t.Axes[i] = serialAxis(axis.Size)
					}
				}
			}
		})
	}
	for i, m := range s.Teams {
		propose(func(c *Spec) {
			c.Teams = slices.Delete(c.Teams, i, i+1)
			for j, t := range c.Tensors {
				if t.Mesh == m.Name {
					c.Tensors[j].Mesh = ""
				}
			}
		})
		inOrder := func(c *Spec) { c.Teams[i].Ranks = lists.Numbers(int(m.Size())) }
		propose(func(c *Spec) {
			inOrder(c)
			c.World.Axes = slices.Clone(m.Axes)
		})
		propose(inOrder)
	}
}

// smallerExtents proposes to drop the parameters, or to replace an extent by a smaller one. It does so in tensors, attributes
// and the world, or only in attributes and in axes of tensors that are not split over ranks.
func smallerExtents(s Spec, propose func(func(*Spec))) {
	propose(func(c *Spec) { c.Params = nil })
	for _, was := range s.sizes() {
		for _, to := range []int64{1, 2, 3, was / 2} {
			if 0 < to && to < was {
				propose(func(c *Spec) { c.replace(was, to, true) })
				propose(func(c *Spec) { c.replace(was, to, false) })
			}
		}
	}
}

// sizes lists the different extents of tensors and of the world, without 1, the largest first.
func (s Spec) sizes() []int64 {
	var list []int64
	for _, t := range s.Tensors {
		for _, a := range t.Axes {
			list = append(list, a.Size)
		}
	}
	for _, a := range s.World.Axes {
		list = append(list, a.Size)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(n int64) bool { return n == 1 })
}

func (s *Spec) replace(was, to int64, meshes bool) {
	s.Params = nil
	for _, t := range s.Tensors {
		for i, a := range t.Axes {
			if a.Size == was && (meshes || a.Kind != domain.Device) {
				t.Axes[i].Size = to
			}
		}
	}
	for _, op := range s.Ops {
		for _, a := range op.Attrs {
			for i, n := range a.List {
				if a.Sizes && n == was {
					a.List[i] = to
				}
			}
		}
	}
	if !meshes {
		return
	}
	for i, a := range s.World.Axes {
		if a.Size == was {
			s.World.Axes[i].Size = to
		}
	}
}

// plainerTensors proposes to leave a result undeclared, to make an axis serial, or to leave out a type or a reduced
// axis. It also proposes fp32 as the default type.
func plainerTensors(s Spec, propose func(func(*Spec))) {
	made := map[string]bool{}
	for _, op := range s.Ops {
		lists.Mark(made, op.Results())
	}
	for i, t := range s.Tensors {
		if made[t.Name] {
			propose(func(c *Spec) { c.Tensors = slices.Delete(c.Tensors, i, i+1) })
		}
		propose(func(c *Spec) { c.Tensors[i].DType = "" })
		for j, a := range t.Axes {
			propose(func(c *Spec) {
				if a.Kind == domain.Reduction {
					c.Tensors[i].Axes = slices.Delete(c.Tensors[i].Axes, j, j+1)
				} else {
					c.Tensors[i].Axes[j] = serialAxis(a.Size)
				}
			})
		}
	}
	propose(func(c *Spec) { c.DType = domain.FP32 })
}
