package unroll

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// declareMemories numbers the memories of a program, and the shares and their flags.
func (u *unroller) declareMemories() {
	add := func(m Memory) int32 {
		m.Share = -1
		n := int32(len(u.out.Memories))
		u.memories[m.Name] = n
		u.out.Memories = append(u.out.Memories, m)
		u.part(n, m.Name, domain.DType(m.Type), 0, m.Bytes)
		return n
	}
	p := u.program
	for _, d := range p.Arguments {
		kind := Input
		if d.Output {
			kind = Output
		}
		add(Memory{Name: d.Name, Kind: kind, Type: string(d.Type), Bytes: u.constant(d.Elements) * d.Type.Size()})
	}
	for _, d := range p.Buffers {
		if d.In == "" {
			add(Memory{Name: d.Name, Kind: Buffer, Type: string(d.Type), Bytes: u.constant(d.Elements) * d.Type.Size(), Where: d.Where})
		}
	}
	for _, d := range p.Buffers {
		if n, ok := u.memories[d.In]; ok && d.In != "" {
			u.memories[d.Name] = n
			u.part(n, d.Name, d.Type, d.Offset, u.constant(d.Elements)*d.Type.Size())
		}
	}
	u.workspaces = add(Memory{Name: callersWorkspace, Kind: Workspace})
	for i := range p.Streams {
		add(Memory{Name: workspaceOf(int64(i)), Kind: Workspace})
	}
	flag := int32(0)
	for i, d := range p.Shares {
		s := Share{Declared: d, Memory: -1, FirstFlag: flag, Transfers: int32(u.constant(d.Transfers)), Counter: -1}
		flag += 2 * s.Transfers
		if n, ok := u.memories[d.Memory]; ok {
			s.Memory = n
			u.out.Memories[n].Share = int32(i)
		}
		if p.Graph {
			s.Counter = add(Memory{Name: d.Name + ".counter", Kind: Counter})
		}
		u.shares[d.Name] = int32(i)
		u.out.Shares = append(u.out.Shares, s)
	}
}

const callersWorkspace = "workspace_"

func workspaceOf(stream int64) string { return fmt.Sprintf("workspaces_[%d]", stream) }

// has reports, for each memory, whether a rank has it.
func (u *unroller) has(rank int32) []bool {
	has := make([]bool, len(u.out.Memories))
	for i := range has {
		has[i] = true
	}
	for _, d := range u.program.Arguments {
		has[u.memories[d.Name]] = u.world.inMesh(d.Mesh, rank)
	}
	for _, d := range u.program.Buffers {
		if n, ok := u.memories[d.Name]; ok && d.In == "" {
			has[n] = u.world.holds(d.Guard, rank)
		}
	}
	return has
}

// part is the part of a memory that a name stands for: all of it, or the bytes of a buffer inside it.
type part struct {
	number     int32 // number of its name
	size       int64 // of an element
	first, end int64
}

// part adds a part.
func (u *unroller) part(memory int32, name string, t domain.DType, first, bytes int64) {
	u.parts[name] = &part{int32(len(u.out.Names)), t.Size(), first, first + bytes}
	u.out.Names = append(u.out.Names, name)
	u.out.Memories[memory].Parts++
}

// place is the target of a pointer.
type place struct {
	owner, memory int32 // memory -1: nowhere
	offset, size  int64 // in bytes; of an element
	of            *part // the part that has to contain these bytes; nil: any
}

var nowhere = place{memory: -1}

// at resolves a pointer. ok is false if it recorded a fault.
func (i *issue) at(s calls.Stmt, p calls.Pointer) (place, bool) {
	if p.Base == "" {
		return nowhere, true
	}
	at, ok := i.base(s, p)
	if !ok || p.Offset == nil {
		return at, ok
	}
	offset, ok := i.value(s, p.Offset)
	at.offset += offset * at.size
	return at, ok
}

func (i *issue) base(s calls.Stmt, p calls.Pointer) (place, bool) {
	if p.Peer != nil {
		share, ok := i.share(s, p.Base)
		if !ok {
			return nowhere, false
		}
		peer, ok := i.peer(s, p.Peer, share)
		if !ok {
			return nowhere, false
		}
		d := i.out.Shares[share]
		if d.Memory < 0 {
			return nowhere, false
		}
		of := i.parts[d.Declared.Memory]
		return place{peer, d.Memory, of.first, d.Declared.Type.Size(), of}, true
	}
	if at, ok := i.named[p.Base]; ok {
		return at, true
	}
	memory, ok := i.memories[p.Base]
	if !ok {
		i.fault(s, BadName, "nothing is called %s", p.Base)
		return nowhere, false
	}
	of := i.parts[p.Base]
	return place{i.number, memory, of.first, of.size, of}, true
}

// share returns the number of a share.
func (i *issue) share(s calls.Stmt, name string) (int32, bool) {
	n, ok := i.shares[name]
	if !ok {
		i.fault(s, BadName, "nothing is shared as %s", name)
	}
	return n, ok
}

// peer evaluates the rank of a peer, which has to share memory with this rank.
func (i *issue) peer(s calls.Stmt, e expr.Expr, share int32) (int32, bool) {
	v, ok := i.value(s, e)
	if !ok {
		return 0, false
	}
	if v < 0 || v >= int64(i.world.size) {
		i.fault(s, BadValue, "there is no rank %d among %d", v, i.world.size)
		return 0, false
	}
	d := i.out.Shares[share].Declared
	if i.node(int32(v)) != i.node(i.number) || !i.world.joined(d, i.number, int32(v)) {
		i.fault(s, Unreached, "rank %d shares no %s with it", v, d.Name)
		return 0, false
	}
	return int32(v), true
}

func (u *unroller) node(rank int32) int {
	if u.nodes == nil {
		return 0
	}
	return u.nodes[rank]
}
