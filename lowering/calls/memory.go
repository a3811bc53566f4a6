package calls

import "github.com/hirgen/hirgen/model/domain"

// WorkspaceBytes is what the algorithm of a GEMM may need of a workspace at most: hirgen::kWorkspaceBytes of the runtime.
const WorkspaceBytes = 32 << 20

// Memory is what a program needs of a GPU beside its arguments, in bytes. cuBLASLt says what an algorithm needs when the plan of
// a GEMM is made: the program has no more than that.
type Memory struct {
	Buffers    int64 // of the program's own, those that other ranks reach left out
	Unshared   int64 // that all of it would be if no buffer had the memory of another one
	Workspaces int64 // of GEMMs, at most, and of attentions by the runtime's own kernels
	IPC        int64 // that other ranks reach: memory of buffers, and the flags of these and of arguments
	Gemms      bool  // a library says how large their workspaces have to be
	Attentions bool  // a library that computes them may have larger workspaces
}

// Total is all of it.
func (m Memory) Total() int64 { return m.Buffers + m.Workspaces + m.IPC }

// Memory is that of a rank which has all buffers.
func (p *Program) Memory() Memory {
	m := Memory{Attentions: len(p.Attentions) > 0}
	values, shared := p.Values(), map[string]bool{}
	memory := map[string]string{}
	for _, b := range p.Buffers {
		if memory[b.Name] = b.Name; b.In != "" {
			memory[b.Name] = b.In
		}
	}
	for _, s := range p.Shares {
		shared[memory[s.Memory]] = true
		transfers, _ := values.Eval(s.Transfers)
		m.IPC += flagBytes(transfers)
	}
	for _, b := range p.Buffers {
		elements, _ := values.Eval(b.Elements)
		bytes := elements * b.Type.Size()
		switch {
		case b.Works != "":
			continue
		case b.In != "":
			m.Unshared += bytes
			continue
		case shared[b.Name]:
			m.IPC += bytes
		default:
			m.Buffers += bytes
		}
		if b.Arena {
			m.Unshared -= bytes
		}
	}
	caller, compute := p.Workspaces()
	for _, w := range []*Workspace{caller, compute} {
		m.Gemms = m.Gemms || w != nil && len(w.Shapes) > 0
	}
	m.Workspaces = caller.bytes(values) + int64(p.Streams)*compute.bytes(values)
	m.Unshared += m.Total()
	return m
}

// flagBytes is what the flags of a buffer take: three for each transfer, and one for the calls (hirgen::Shared).
func flagBytes(transfers int64) int64 { return 4 * (3*transfers + 1) }

// bytes is what all that works in a workspace needs.
func (w *Workspace) bytes(values Values) int64 {
	if w == nil {
		return 0
	}
	most := int64(0)
	for _, d := range w.Shapes {
		most = max(most, WorkspaceBytes+d.Problem(values).Bytes(d.Packs()))
	}
	for _, a := range w.Attentions {
		most = max(most, a.WorkspaceBytes(values))
	}
	return most
}

// WorkspaceBytes is the workspace of an attention by the runtime's own kernels: a gradient keeps a number in fp32 for each row.
func (a *Attention) WorkspaceBytes(values Values) int64 {
	if a.Gradients == "" {
		return 0
	}
	return domain.FP32.Size() * a.queries(values)
}

// RoomType is what memory that an attention works in is counted in.
const RoomType = domain.FP32

// RoomBytes is what cuDNN 9 wants for a gradient, or the runtime's own kernels where it computes none: the gradient of Q in fp32, those of K
// and V for each head of queries where several share one of keys, and two numbers for each row.
func (a *Attention) RoomBytes(values Values) int64 {
	if a.Gradients == "" || a.Type.Size() != domain.BF16.Size() {
		return a.WorkspaceBytes(values)
	}
	size, _ := values.Eval(a.Size)
	keys, _ := values.Eval(a.KeyRows)
	rows, _ := values.Eval(a.QueryRows)
	bytes := domain.FP32.Size() * (size + 2) * a.queries(values)
	queryHeads, _ := values.Eval(a.QueryHeads)
	if keyHeads, _ := values.Eval(a.KeyHeads); keyHeads < queryHeads {
		bytes += 2 * a.Type.Size() * size * a.queries(values) / max(rows, 1) * keys
	}
	return bytes
}

// queries is how many rows of queries there are.
func (a *Attention) queries(values Values) int64 {
	batch, _ := values.Eval(a.Batch)
	heads, _ := values.Eval(a.QueryHeads)
	rows, _ := values.Eval(a.QueryRows)
	return batch * heads * rows
}
