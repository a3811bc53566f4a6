package calls

// WorkspaceBytes is the memory of the GEMMs of a stream: hirgen::kWorkspaceBytes of the runtime.
const WorkspaceBytes = 32 << 20

// Memory is what a program needs of a GPU beside its arguments, in bytes.
type Memory struct {
	Buffers    int64 // of the program's own
	Unshared   int64 // that buffers would take if none had the memory of another one
	Workspaces int64 // of GEMMs
}

// Total is all of it.
func (m Memory) Total() int64 { return m.Buffers + m.Workspaces }

// Memory is that of a rank which has all buffers.
func (p *Program) Memory() Memory {
	var m Memory
	values := p.Values()
	for _, b := range p.Buffers {
		if b.Workspace {
			m.Workspaces += WorkspaceBytes
			continue
		}
		elements, _ := values.Eval(b.Elements)
		m.Unshared += elements * b.Type.Size()
		if b.In == "" {
			m.Buffers += elements * b.Type.Size()
		}
	}
	onWorkers := false
	Walk(p.Body, func(s Stmt) bool {
		g, ok := s.(*Gemm)
		onWorkers = onWorkers || ok && g.Workspace != nil
		return !onWorkers
	})
	if onWorkers {
		m.Workspaces += int64(p.Streams) * WorkspaceBytes
	}
	return m
}
