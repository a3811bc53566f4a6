package hostir

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/transports"
)

// Backend is the transport of a communication.
//
// A transfer between two ranks is a send on one and a receive on the other. It starts after everything that was issued to its
// stream before it. Wait makes a stream wait for its end. The meaning of the end depends on the backend.
//
// NCCL is a rendezvous: send and receive end together, and only if both were started. If a rank has a send and a receive that
// wait for each other, both are in one group. The transfers between two ranks are matched in the order in which each rank issues
// them.
//
// IPC-get and IPC-put are copies between memories that ShareMemHandles has mapped. One rank, the owner, has the buffer. The other
// rank, the copier, reads it (get: the sender owns it) or writes it (put: the receiver owns it). Two flags order the two ranks,
// each in the memory of the rank that polls it:
//
//	          owner, at its statement       copier, at its statement
//	IPC-get   send: sets the ready flag     recv: waits for it, copies, sets the done flag
//	IPC-put   recv: sets the ready flag     send: waits for it, copies, sets the done flag
//
// The ready flag is set on the stream of the statement. The copy runs on the copy stream of its rank, in the order of
// issue. In a PeerReadSum it runs on the stream of that statement. The owner's Wait is for the done flag: after it a
// sender may overwrite the buffer, and a receiver may read it. The copier's Wait is for its local copy. Nothing else is
// ordered: without a Wait, a rank may overwrite or read the buffer too early.
//
// The two statements are no rendezvous: an owner continues before its copier arrives. Therefore, on every rank, the owner's statement
// of an iteration comes before the copier's. Then a wait depends only on flags of this iteration or earlier ones, and no order of
// execution deadlocks.
//
// A flag holds the sequence number of the last call that set it. Waits compare with "greater or equal" in cyclic order. So
// consecutive calls, even if the host does not synchronize between them, cannot miss a call or mistake one for another. There is a
// pair of flags for each pair of statements, each iteration and each shared buffer. In one iteration a rank exchanges with one peer
// in each direction through one pair of statements.
//
// Setting a flag, waiting for a flag and a copy are one operation each. Passes on calls may batch adjacent operations of one kind.
//
// UCC is a rendezvous like NCCL. It carries only collectives, and no groups.
type Backend string

// The backends. A collective has None until assign-transport has run.
const (
	None   Backend = ""
	NCCL   Backend = "NCCL"
	IPCGet Backend = "IPC-get"
	IPCPut Backend = "IPC-put"
	UCC    Backend = "UCC"
)

// IPC reports whether the backend copies between memories that ranks share.
func (b Backend) IPC() bool { return b.Row().Shares }

// Row returns the properties of the transport, from the table of package transports. They are empty for None and unknown transports.
func (b Backend) Row() transports.Row { return transports.Named(string(b)) }

// Carries reports whether the transport carries a collective.
func (b Backend) Carries(t collective.Type) bool {
	r := b.Row()
	return r.Collectives && (r.Pairs || !t.Row().Pairs)
}

// BackendOf returns the backend for a value of the schedule field via.
func BackendOf(via string) Backend { return Backend(transports.Named(via).Title) }

// Locality limits a transfer to some peers. The program learns at its start which ranks are on one node and can share memory. Nodes
// partition the ranks, so both sides of a transfer agree. In an iteration with any other peer a rank does nothing at the transfer and
// at its Wait. A group may be empty in such an iteration.
type Locality string

// The localities.
const (
	AnyNode   Locality = ""
	IntraNode Locality = "intra-node"
	InterNode Locality = "inter-node"
)

// Includes reports whether a transfer takes place with a peer. sameNode is true for a peer on the same node.
func (l Locality) Includes(sameNode bool) bool {
	return l == AnyNode || sameNode == (l == IntraNode)
}

// Owns reports whether the rank that runs s owns the buffer, so that its peer copies.
func (s *P2PCommunication) Owns() bool {
	return s.Backend == IPCGet && s.Send || s.Backend == IPCPut && !s.Send
}

// Exchange is the n-th send and the n-th receive of a ShareMemHandles: the send of one rank goes to the receive of its peer, in
// the same iteration. The handles of the owner's buffer are exchanged once, when the program is made. For a buffer of the caller,
// the first call with that buffer exchanges them. If one rank passes another buffer in a later call, all ranks that share the
// buffer have to do so in that call.
type Exchange struct {
	Shared     *ShareMemHandles
	Send, Recv *P2PCommunication
}

// Owner returns the statement of the rank whose buffer the peer uses.
func (e *Exchange) Owner() *P2PCommunication {
	if e.Send.Owns() {
		return e.Send
	}
	return e.Recv
}

// Copier returns the statement that copies.
func (e *Exchange) Copier() *P2PCommunication {
	if e.Send.Owns() {
		return e.Recv
	}
	return e.Send
}

// Exchanges returns the exchanges of a program by the handles of both statements. It omits transfers that no ShareMemHandles
// pairs. Package verify reports those over CUDA IPC.
func Exchanges(p *Program) map[string]*Exchange {
	transfers := map[string]*P2PCommunication{}
	for t := range Each[*P2PCommunication](p.Body) {
		transfers[t.Handle] = t
	}
	exchanges := map[string]*Exchange{}
	for shared := range Each[*ShareMemHandles](p.Body) {
		sends, receives := sides(shared, transfers)
		for i := range min(len(sends), len(receives)) {
			e := &Exchange{shared, sends[i], receives[i]}
			if exchanges[e.Send.Handle] == nil && exchanges[e.Recv.Handle] == nil {
				exchanges[e.Send.Handle], exchanges[e.Recv.Handle] = e, e
			}
		}
	}
	return exchanges
}

// sides lists the sends and the receives of a ShareMemHandles, each in the order of Comms. transfers maps handles to
// statements.
func sides(s *ShareMemHandles, transfers map[string]*P2PCommunication) (sends, receives []*P2PCommunication) {
	for _, handle := range s.Comms {
		switch t := transfers[handle]; {
		case t == nil:
		case t.Send:
			sends = append(sends, t)
		default:
			receives = append(receives, t)
		}
	}
	return sends, receives
}
