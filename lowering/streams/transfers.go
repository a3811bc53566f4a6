package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
	"github.com/hirgen/hirgen/model/transports"
)

// exchange returns statements that send to rank to of the team, and receive from rank of. They use NCCL, or shared
// memory, or shared memory within nodes and NCCL between nodes. With shared memory, the ready flag comes first. The
// waits are last.
func (c *slicer) exchange(s hostir.Stmt, from, into *hostir.Tensor, to, of expr.Expr) []hostir.Stmt {
	pair := transferPair{c: c, stmt: s, from: from, into: into, to: c.team.Rank(to), of: c.team.Rank(of)}
	backend := hostir.BackendOf(c.via(s))
	switch interNode := c.lowering.program.Choices.InterNode; {
	case !backend.IPC():
		return slices.Concat(pair.grouped(backend, hostir.AnyNode))
	case interNode == "":
		return slices.Concat(pair.shared(backend, hostir.AnyNode))
	default:
		ready, copied, read := pair.shared(backend, hostir.IntraNode)
		group, passed := pair.grouped(hostir.BackendOf(interNode), hostir.InterNode)
		return slices.Concat(ready, group, copied, read, passed)
	}
}

// transferPair is a send to the rank to, and a receive from the rank of. Both may be the same rank.
type transferPair struct {
	c          *slicer
	stmt       hostir.Stmt
	from, into *hostir.Tensor
	to, of     expr.Expr // world ranks
}

// transfers returns the send and the receive over a backend.
func (p transferPair) transfers(backend hostir.Backend, locality hostir.Locality) (send, recv *hostir.P2PCommunication) {
	names, of := p.c.lowering.names, p.c.lowering.named(p.stmt)
	return &hostir.P2PCommunication{
			Info: hostir.InfoFrom(p.stmt, ""), Handle: names.Fresh("send"), Send: true, Buffer: p.from, Peer: p.to, Backend: backend,
			Locality: locality, Of: of,
		}, &hostir.P2PCommunication{
			Info: hostir.InfoFrom(p.stmt, ""), Handle: names.Fresh("receive"), Buffer: p.into, Peer: p.of, Backend: backend,
			Locality: locality, Of: of,
		}
}

// grouped returns the pair as one group, and the Wait for the group. The transfers have to be in a group, because a
// send and a receive one after the other could deadlock: each waits for its peer.
func (p transferPair) grouped(backend hostir.Backend, locality hostir.Locality) (start, waits []hostir.Stmt) {
	send, recv := p.transfers(backend, locality)
	end := &hostir.EndCoalescing{Info: hostir.InfoFrom(p.stmt, ""), Handle: p.c.lowering.names.Fresh("exchange")}
	begin := &hostir.StartCoalescing{Info: hostir.InfoFrom(p.stmt, "")}
	if locality == hostir.AnyNode { // otherwise the intra-node transfer has the note
		begin.Note = p.stmt.Meta().Note
	}
	return []hostir.Stmt{begin, recv, send, end}, p.wait(end.Handle)
}

// shared returns the pair through shared memory: the statements that share the memory and set the ready flag, the copy,
// and the Waits.
func (p transferPair) shared(backend hostir.Backend, locality hostir.Locality) (ready, copied, waits []hostir.Stmt) {
	send, recv := p.transfers(backend, locality)
	share := &hostir.ShareMemHandles{Info: hostir.InfoFrom(p.stmt, ""), Comms: []string{recv.Handle, send.Handle}}
	if ring := p.c.team; ring.Size < int64(p.c.lowering.program.Meshes[0].Size()) {
		share.Mesh, share.MeshAxis = ring.Mesh, ring.Name
	}
	owner, copier := hostir.Stmt(send), hostir.Stmt(recv)
	if !send.Owns() {
		owner, copier = copier, owner
	}
	copier.Meta().Note = p.stmt.Meta().Note
	return []hostir.Stmt{share, owner}, []hostir.Stmt{copier}, p.wait(send.Handle, recv.Handle)
}

// wait returns a Wait for each handle.
func (p transferPair) wait(handles ...string) []hostir.Stmt {
	list := make([]hostir.Stmt, len(handles))
	for i, handle := range handles {
		list[i] = &hostir.Wait{Info: hostir.InfoFrom(p.stmt, ""), Handle: handle}
	}
	return list
}

// via returns the transport that the schedule selects for a communication. It returns NCCL for transfers along the mesh
// axis that connects nodes, and if the selected transport has no point-to-point transfers.
func (c *slicer) via(s hostir.Stmt) string {
	via := c.lowering.choice(s, schedule.Via)
	if c.team.Name == c.lowering.program.Choices.Get(schedule.Nodes) || !transports.Named(via).Pairs {
		return schedule.NCCL
	}
	return via
}
