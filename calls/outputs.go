package calls

// Outputs lists the caller's outputs whose memory can hold buffers until the results are written: every rank has the
// output, and no other rank accesses it.
func (p *Program) Outputs() (list []*Buffer) {
	reached := p.Reached()
	for _, a := range p.Arguments {
		if a.Output && a.Mesh == "" && !reached[a.Name] {
			list = append(list, &Buffer{Name: a.Name, Type: a.Type, Elements: a.Elements, Where: a.Tensor, Shape: a.Shape})
		}
	}
	return list
}

// Reached returns the buffers and arguments that other ranks read or write.
func (p *Program) Reached() map[string]bool {
	reached := map[string]bool{}
	for _, s := range p.Shares {
		reached[s.Memory] = true
	}
	return reached
}
