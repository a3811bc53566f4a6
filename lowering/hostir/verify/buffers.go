package verify

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// buffers checks the allocations, views and writes of a statement on the current path.
func (f *flow) buffers(s hostir.Stmt) {
	switch s := s.(type) {
	case *hostir.Allocate:
		f.allocate(s)
		return
	case *hostir.Deallocate:
		f.deallocate(s)
		return
	}
	for _, t := range hostir.Uses(s) {
		f.ready(s, t)
	}
	for _, t := range hostir.Defs(s) {
		if t.Role == hostir.View && hostir.MakesView(s) && t.Of == nil && !f.facts[fact{viewed, t}] {
			f.view(s, t, hostir.Uses(s)[0])
			continue
		}
		f.ready(s, t)
		f.write(s, t)
	}
}

func (f *flow) allocate(s *hostir.Allocate) {
	t := s.Tensor
	switch {
	case t.Role == hostir.Input || t.Role == hostir.View:
		f.breach(s, "buffer", "%s has no buffer to allocate: it is a tensor of role %s", t.Name, t.Role)
	case f.facts[fact{allocated, t}]:
		f.breach(s, "buffer", "%s is allocated twice", t.Name)
	}
	f.set(allocated, t, true)
	f.set(freed, t, false)
	if f.frees && t.Role == hostir.Temp {
		f.set(kept, t, true)
		f.allocates[t] = s.Pos
	}
}

func (f *flow) deallocate(s *hostir.Deallocate) {
	t := s.Tensor
	switch {
	case t.Role != hostir.Temp:
		f.breach(s, "buffer", "%s is not the program's to free: it is a tensor of role %s", t.Name, t.Role)
	case f.facts[fact{freed, t}]:
		f.breach(s, "buffer", "%s is freed twice", t.Name)
	case !f.facts[fact{allocated, t}]:
		f.breach(s, "buffer", "%s is freed before it is allocated", t.Name)
	}
	f.set(allocated, t, false)
	f.set(kept, t, false)
	f.set(freed, t, true)
}

// view records that out is a view of the buffer of in.
func (f *flow) view(s hostir.Stmt, out, in *hostir.Tensor) {
	f.namesMemory(s)
	f.base[out] = f.root(in)
	f.set(viewed, out, true)
}

// namesMemory checks a statement that makes a view: the role of the view and, for a Permute, its layout.
func (v *verifier) namesMemory(s hostir.Stmt) {
	out, in := hostir.Result(s), hostir.Uses(s)[0]
	if out.Role != hostir.View {
		v.breach(s, "view", "%s makes %s a view, but its role is %s", hostir.Op(s), out.Name, out.Role)
	}
	if p, ok := s.(*hostir.Permute); ok {
		order := hostir.LayoutIn(in, hostir.AxisMap(p)[0])
		if !slices.Equal(long(out.Axes, hostir.Layout(out)), long(out.Axes, order)) {
			v.breach(s, "view", "the layout of %s is not that of %s with the axes permuted", out.Name, in.Name)
		}
	}
}

// long removes axes of one local element, whose position in a layout changes no address.
func long(axes []domain.Axis, layout []int) []int {
	return lists.Except(layout, func(axis int) bool { return axes[axis].LocalSize() == 1 })
}

func (f *flow) root(t *hostir.Tensor) *hostir.Tensor {
	if b := f.base[t]; b != nil {
		return b
	}
	return t
}

// ready checks that t has a buffer at statement s. It also checks the expressions of t, if t is a view, and of all views
// from t to the buffer.
func (f *flow) ready(s hostir.Stmt, t *hostir.Tensor) {
	if t.Role == hostir.View && t.Of == nil && !f.facts[fact{viewed, t}] {
		f.breach(s, "view", "%s uses view %s before it is made", hostir.Op(s), t.Name)
		return
	}
	hostir.EachView(t, f.indices)
	for _, base := range f.behind(t) {
		f.available(s, base)
	}
}

// behind lists the buffers that t may be a view of.
func (f *flow) behind(t *hostir.Tensor) []*hostir.Tensor {
	list := hostir.Buffers(t)
	for i, b := range list {
		list[i] = f.root(b)
	}
	return list
}

// available checks that a buffer is not freed at statement s and, in a lowered program, that it is allocated.
func (f *flow) available(s hostir.Stmt, base *hostir.Tensor) {
	switch {
	case base.Role == hostir.Input || base.Role == hostir.View:
	case f.facts[fact{freed, base}]:
		f.breach(s, "buffer", "%s uses %s after it was freed", hostir.Op(s), base.Name)
	case f.lowered && !f.facts[fact{allocated, base}]:
		f.breach(s, "buffer", "%s uses %s before it is allocated", hostir.Op(s), base.Name)
	}
}

func (f *flow) write(s hostir.Stmt, t *hostir.Tensor) {
	for _, base := range f.behind(t) {
		if base.Role == hostir.Input {
			f.breach(s, "written", "%s writes input %s", hostir.Op(s), base.Name)
		}
		f.set(written, base, true)
	}
}
