package hostir

import "slices"

// buffers follows allocation, views and writes along a path.
func (f *flow) buffers(s Stmt) {
	switch s := s.(type) {
	case *Allocate:
		f.allocate(s)
		return
	case *Deallocate:
		f.deallocate(s)
		return
	case *Select:
		f.ready(s, s.In)
		f.view(s, s.Out, s.In)
		return
	}
	for _, t := range Uses(s) {
		f.ready(s, t)
	}
	for _, t := range Defs(s) {
		if t.Role == View && MakesView(s) && !f.facts[fact{viewed, t}] {
			f.view(s, t, Uses(s)[0])
			continue
		}
		f.ready(s, t)
		f.write(s, t)
	}
}

func (f *flow) allocate(s *Allocate) {
	t := s.Tensor
	switch {
	case t.Role == Input || t.Role == View:
		f.breach(s.Pos, "buffer", "%s has no buffer to allocate: it is a tensor of role %s", t.Name, t.Role)
	case f.facts[fact{allocated, t}]:
		f.breach(s.Pos, "buffer", "%s is allocated twice", t.Name)
	}
	f.set(allocated, t, true)
	f.set(freed, t, false)
}

func (f *flow) deallocate(s *Deallocate) {
	t := s.Tensor
	switch {
	case t.Role != Temp:
		f.breach(s.Pos, "buffer", "%s is not the program's to free: it is a tensor of role %s", t.Name, t.Role)
	case f.facts[fact{freed, t}]:
		f.breach(s.Pos, "buffer", "%s is freed twice", t.Name)
	case !f.facts[fact{allocated, t}]:
		f.breach(s.Pos, "buffer", "%s is freed before it is allocated", t.Name)
	}
	f.set(allocated, t, false)
	f.set(freed, t, true)
}

// view makes out a view of the buffer behind in.
func (f *flow) view(s Stmt, out, in *Tensor) {
	if out.Role != View {
		f.breach(s.Meta().Pos, "view", "%s makes %s a view, but its role is %s", s.Op(), out.Name, out.Role)
	}
	if p, ok := s.(*Permute); ok && !slices.Equal(order(out), carried(p)) {
		f.breach(s.Meta().Pos, "view", "the layout of %s is not that of %s with the axes permuted", out.Name, in.Name)
	}
	f.base[out] = f.root(in)
	delete(f.other, out)
	if other := f.other[in]; other != nil {
		f.other[out] = other
	}
	f.set(viewed, out, true)
}

// carried is the order in which the result of a Permute steps through the buffer of its
// operand.
func carried(p *Permute) []int {
	row := AxisMap(p)[0]
	list := make([]int, 0, len(row))
	for _, i := range order(p.In) {
		if row[i] != Unmapped {
			list = append(list, row[i])
		}
	}
	return list
}

func (f *flow) root(t *Tensor) *Tensor {
	if b := f.base[t]; b != nil {
		return b
	}
	return t
}

// ready checks that t has a buffer at statement s.
func (f *flow) ready(s Stmt, t *Tensor) {
	if t.Role == View && !f.facts[fact{viewed, t}] {
		f.breach(s.Meta().Pos, "view", "%s uses view %s before it is made", s.Op(), t.Name)
		return
	}
	for _, base := range f.behind(t) {
		f.available(s, base)
	}
}

// behind lists the buffers that may be behind t.
func (f *flow) behind(t *Tensor) []*Tensor {
	if other := f.other[t]; other != nil {
		return []*Tensor{f.root(t), other}
	}
	return []*Tensor{f.root(t)}
}

// available checks that a buffer is allocated at statement s.
func (f *flow) available(s Stmt, base *Tensor) {
	switch {
	case base.Role == Input || base.Role == View:
	case f.facts[fact{freed, base}]:
		f.breach(s.Meta().Pos, "buffer", "%s uses %s after it was freed", s.Op(), base.Name)
	case f.lowered && !f.facts[fact{allocated, base}]:
		f.breach(s.Meta().Pos, "buffer", "%s uses %s before it is allocated", s.Op(), base.Name)
	}
}

func (f *flow) write(s Stmt, t *Tensor) {
	for _, base := range f.behind(t) {
		if base.Role == Input {
			f.breach(s.Meta().Pos, "written", "%s writes input %s", s.Op(), base.Name)
		}
		f.set(written, base, true)
	}
}
