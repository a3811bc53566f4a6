package calls

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// WorkspaceBytes is the largest workspace of a GEMM's algorithm, in bytes. It equals hirgen::kWorkspaceBytes of the
// runtime.
const WorkspaceBytes = 32 << 20

// Memory is the GPU memory of one rank's program in bytes, without its arguments. Workspaces of GEMMs are upper limits:
// cuBLASLt reports the size when the program makes the plan, and the program allocates no more than that.
type Memory struct {
	Buffers    int64 // buffers that no other rank accesses
	Unshared   int64 // all memory, if each buffer had its own bytes
	Workspaces int64 // upper limits for GEMMs, and the workspaces of attentions with the runtime's own kernels
	IPC        int64 // buffers that other ranks access, and the flags of all shares
	Gemms      bool  // there are GEMMs, whose workspace size cuBLASLt decides
	Attentions bool  // there are attentions, for which cuDNN may need larger workspaces
}

// Total returns the bytes that a rank allocates: buffers, workspaces and IPC memory.
func (m Memory) Total() int64 { return m.Buffers + m.Workspaces + m.IPC }

// Memory returns the memory of a rank that has all buffers.
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
		if s.Rows != nil {
			rows, _ := values.Eval(s.Rows)
			transfers *= max(rows, 1)
		}
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

// flagBytes returns the size of a share's flags in bytes: three words for each transfer, and one word that counts calls
// (hirgen::Shared::flag_count). In a RowExchange, each row of a transfer counts as a transfer.
func flagBytes(transfers int64) int64 { return 4 * (3*transfers + 1) }

// bytes returns the size of a workspace: the largest need of its GEMMs and attentions.
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

// WorkspaceBytes returns the bytes of workspace that the runtime's own attention kernels need: one fp32 number for each
// query row of a gradient, and none for a forward pass.
func (a *Attention) WorkspaceBytes(values Values) int64 {
	if a.Gradients == "" {
		return 0
	}
	queries, _ := values.Eval(a.queries())
	return domain.FP32.Size() * queries
}

// ScratchType is the element type of scratch memory of attentions.
const ScratchType = domain.FP32

// ScratchElements returns the elements of scratch memory of an attention and their purpose, or nil if it needs none. For a
// gradient of a 2-byte type, these are the bytes that cuDNN 9 needs: the gradient of Q in fp32, and two fp32 numbers for
// each query row. If several query heads share a key head, cuDNN also needs the gradients of K and V for each query head.
// In other cases they are the bytes of WorkspaceBytes.
func (a *Attention) ScratchElements(values Values) (elements expr.Expr, purpose string) {
	switch {
	case a.Gradients == "":
		return nil, ""
	case a.Type.Size() != domain.BF16.Size():
		return expr.Fold(a.queries()), "one number for each row of dQ"
	}
	elements, purpose = expr.Op("*", a.queries(), expr.Op("+", a.Size, expr.Int(2))), "for cuDNN: dQ and two numbers for each of its rows"
	queryHeads, _ := values.Eval(a.QueryHeads)
	if keyHeads, _ := values.Eval(a.KeyHeads); keyHeads < queryHeads {
		pairs := expr.Op("*", expr.Op("*", expr.Op("*", a.Batch, a.QueryHeads), a.KeyRows), a.Size)
		elements, purpose = expr.Op("+", elements, pairs), purpose+", and dK and dV of each query head in "+string(a.Type)
	}
	return expr.Fold(elements), purpose
}

// queries returns the number of query rows of all batches and heads.
func (a *Attention) queries() expr.Expr {
	return expr.Op("*", expr.Op("*", a.Batch, a.QueryHeads), a.QueryRows)
}
