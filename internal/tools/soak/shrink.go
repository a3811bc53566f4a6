package soak

import (
	"slices"
	"time"

	"github.com/hirgen/hirgen/internal/base/list"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Shrink makes the spec of a finding smaller as long as a finding of the same shape remains, for a time.
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

// smallerSpecs returns slightly smaller specs, the largest reductions first.
func smallerSpecs(s Spec) []Spec {
	return slices.Concat(fewerOps(s), lessSchedule(s), fewerRanks(s), smallerExtents(s), plainerTensors(s))
}

// changed returns a changed copy, which need not be a legal spec.
func changed(s Spec, change func(*Spec)) Spec {
	c := s.Clone()
	c.Legal = false
	change(&c)
	return c
}

// fewerOps leaves only what one operation needs; leaves out one that no other reads; or gives its
// results.
func fewerOps(s Spec) []Spec {
	var list []Spec
	axes := inferred(s)
	for i, op := range s.Ops {
		list = append(list, needed(s, op.Out))
		if len(axes) > 0 {
			list = append(list, pruned(changed(s, func(c *Spec) {
				c.Ops, c.Outputs = slices.Delete(c.Ops, i, i+1), nil
				for _, result := range op.Results() {
					c.give(axes[result])
				}
			})))
		}
		list = append(list, pruned(changed(s, func(c *Spec) { c.Ops, c.Outputs = slices.Delete(c.Ops, i, i+1), nil })))
	}
	return slices.DeleteFunc(list, func(c Spec) bool {
		return len(c.Ops) == 0 || len(c.Ops) == len(s.Ops) && len(c.Tensors) == len(s.Tensors)
	})
}

// give declares what an operation made as an input.
func (s *Spec) give(t Tensor) {
	if s.declared(t.Name) < 0 {
		s.Tensors = append(s.Tensors, t)
	}
	at := s.declared(t.Name)
	s.Tensors[at].Axes = domain.WithoutReductions(s.Tensors[at].Axes)
}

// inferred returns the tensors of a spec as they would be declared.
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

// needed keeps the operations that a result needs.
func needed(s Spec, out string) Spec {
	want := map[string]bool{out: true}
	return pruned(changed(s, func(c *Spec) {
		c.Outputs = nil
		var ops []Op
		for _, op := range slices.Backward(c.Ops) {
			if slices.ContainsFunc(op.Results(), func(out string) bool { return want[out] }) {
				ops = append(ops, op)
				for _, in := range op.In {
					want[in] = true
				}
			}
		}
		slices.Reverse(ops)
		c.Ops = ops
	}))
}

// pruned drops declared tensors that nothing reads or makes.
func pruned(s Spec) Spec {
	used := map[string]bool{}
	for _, op := range s.Ops {
		for _, name := range append(op.Results(), op.In...) {
			used[name] = true
		}
	}
	s.Tensors = slices.DeleteFunc(s.Tensors, func(t Tensor) bool { return !used[t.Name] })
	return s
}

func lessSchedule(s Spec) []Spec {
	if len(s.Schedule) == 0 {
		return nil
	}
	list := []Spec{changed(s, func(c *Spec) { c.Schedule = nil })}
	for i := range s.Schedule {
		list = append(list, changed(s, func(c *Spec) { c.Schedule = slices.Delete(c.Schedule, i, i+1) }))
	}
	return list
}

// fewerRanks drops axes of the mesh, and puts tensors of other meshes on the world.
func fewerRanks(s Spec) []Spec {
	var smaller []Spec
	for i, a := range s.World.Axes {
		if len(s.World.Axes) == 1 {
			break
		}
		smaller = append(smaller, changed(s, func(c *Spec) {
			c.World.Axes = slices.Delete(c.World.Axes, i, i+1)
			c.serialize(func(axis domain.Axis) bool { return axis.Kind == domain.Device && axis.Mesh == a.Name })
		}))
	}
	for i, m := range s.Teams {
		smaller = append(smaller,
			changed(s, func(c *Spec) {
				c.Teams = slices.Delete(c.Teams, i, i+1)
				for j, t := range c.Tensors {
					if t.Mesh == m.Name {
						c.Tensors[j].Mesh = ""
					}
				}
			}),
			changed(s, func(c *Spec) { c.World.Axes = slices.Clone(m.Axes); c.Teams[i].Ranks = list.Numbers(int(m.Size())) }),
			changed(s, func(c *Spec) { c.Teams[i].Ranks = list.Numbers(int(m.Size())) }))
	}
	return slices.DeleteFunc(smaller, func(c Spec) bool { return c.Text() == s.Text() })
}

// serialize makes axes serial.
func (s *Spec) serialize(which func(domain.Axis) bool) {
	for _, t := range s.Tensors {
		for i, a := range t.Axes {
			if which(a) {
				t.Axes[i] = serialAxis(a.Size)
			}
		}
	}
}

// smallerExtents replaces an extent by a smaller one, wherever it stands or in tensors alone.
func smallerExtents(s Spec) []Spec {
	var list []Spec
	if len(s.Params) > 0 {
		list = append(list, changed(s, func(c *Spec) { c.Params = nil }))
	}
	for _, was := range s.sizes() {
		for _, to := range []int64{1, 2, 3, was / 2} {
			if to >= was || to < 1 {
				continue
			}
			list = append(list, changed(s, func(c *Spec) { c.replace(was, to, true) }), changed(s, func(c *Spec) { c.replace(was, to, false) }))
		}
	}
	return list
}

// sizes lists the extents, without 1, the largest first.
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

// plainerTensors leaves a result undeclared, makes an axis serial, leaves out a type.
func plainerTensors(s Spec) []Spec {
	var list []Spec
	made := map[string]bool{}
	for _, op := range s.Ops {
		for _, out := range op.Results() {
			made[out] = true
		}
	}
	for i, t := range s.Tensors {
		if made[t.Name] {
			list = append(list, changed(s, func(c *Spec) { c.Tensors = slices.Delete(c.Tensors, i, i+1) }))
		}
		if t.DType != "" {
			list = append(list, changed(s, func(c *Spec) { c.Tensors[i].DType = "" }))
		}
		for j, a := range t.Axes {
			if a.Kind == domain.Reduction {
				list = append(list, changed(s, func(c *Spec) { c.Tensors[i].Axes = slices.Delete(c.Tensors[i].Axes, j, j+1) }))
			} else if a.Kind != domain.Serial {
				list = append(list, changed(s, func(c *Spec) { c.Tensors[i].Axes[j] = serialAxis(a.Size) }))
			}
		}
	}
	if s.DType != domain.FP32 {
		list = append(list, changed(s, func(c *Spec) { c.DType = domain.FP32 }))
	}
	return list
}
