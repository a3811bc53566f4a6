package calls

import "slices"

// Outputs are the memories of the caller's that buffers may lie in until the results are written there: those that every rank has and no
// other one reaches.
func (p *Program) Outputs() (list []*Buffer) {
	for _, a := range p.Arguments {
		b := &Buffer{Name: a.Name, Type: a.Type, Elements: a.Elements, Where: a.Tensor, Shape: a.Shape}
		if a.Output && a.Mesh == "" && !p.Reached(b) {
			list = append(list, b)
		}
	}
	return list
}

// Reached reports whether other ranks read or write a buffer.
func (p *Program) Reached(b *Buffer) bool {
	return slices.ContainsFunc(p.Shares, func(s *Share) bool { return s.Memory == b.Name })
}
