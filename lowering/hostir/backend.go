package hostir

// Backend is what carries a communication.
//
// A transfer between two ranks is a send on one and a receive on the other. It starts
// after all that was issued to the current stream before it, and Wait makes the current
// stream follow its end. What the end means depends on the backend.
//
// NCCL is a rendezvous: send and receive end together, and neither ends unless both were
// started. A send and a receive on one rank, each of which waits for the other, stand in
// one group. The transfers between two ranks meet in the order in which each issues them.
//
// IPC-get and IPC-put are copies between memories that ShareMemHandles has mapped. One
// rank, the owner, has the buffer; the other one, the copier, reads it (get: the sender
// owns it) or writes it (put: the receiver does). Two flags order the two ranks, each in
// the memory of the rank that polls it:
//
//	          owner, at its statement       copier, at its statement
//	IPC-get   send: sets the ready flag     recv: waits for it, copies, sets the done flag
//	IPC-put   recv: sets the ready flag     send: waits for it, copies, sets the done flag
//
// The ready flag is set on the current stream; the copy runs on the stream of all copies of
// its rank, in the order of issue. The owner's Wait is for the done flag: from then on a
// sender may overwrite the buffer, a receiver may read it. The copier's
// Wait is for its local copy. Nothing else is ordered: a program that drops a Wait may
// overwrite, or read, too early.
//
// Neither statement meets the other one: an owner goes on though no copier is there yet.
// Therefore, on every rank, the owner's statement of an iteration stands before the
// copier's; then a wait depends on flags of this iteration or earlier ones alone, and
// no order of execution is a deadlock.
//
// A flag holds the sequence number of the last call that set it, and is waited for with
// "greater or equal" in cyclic order, so no call is missed or taken for another when calls
// follow each other without the host. There is a pair of flags for each pair of
// statements, each iteration and each buffer that is shared: in one iteration a rank
// exchanges, through one pair of statements, with one peer in each direction.
//
// Setting a flag, waiting for one and a copy are an operation each; the calls may batch adjacent ones.
type Backend string

// The backends. None stands until assign-transport has run.
const (
	None   Backend = ""
	NCCL   Backend = "NCCL"
	IPCGet Backend = "IPC-get"
	IPCPut Backend = "IPC-put"
)

// IPC reports whether a transfer is a copy between memories that ranks share.
func (b Backend) IPC() bool { return b == IPCGet || b == IPCPut }

// Locality limits a transfer to some peers. Which ranks are on one node, and can share memory, is known
// when the program starts: nodes are a partition of the ranks, so both sides of a transfer agree. A
// rank does nothing at a transfer with any other peer, in the iterations where that is its peer, and
// nothing at the Wait for it; a group may hold nothing then.
type Locality string

// The localities.
const (
	AnyNode   Locality = ""
	IntraNode Locality = "intra-node"
	InterNode Locality = "inter-node"
)

// Includes reports whether a transfer takes place with a peer that is, or is not, on the same node.
func (l Locality) Includes(sameNode bool) bool {
	return l == AnyNode || sameNode == (l == IntraNode)
}

// Owns reports whether the rank that runs s owns the buffer, and its peer copies.
func (s *P2PCommunication) Owns() bool {
	return s.Backend == IPCGet && s.Send || s.Backend == IPCPut && !s.Send
}

// Exchange is a send and a receive that ShareMemHandles names as its n-th of each: the
// send of one rank goes to the receive of its peer, in the same iteration. The handles of
// the owner's buffer are exchanged once: when the program is made or, for a buffer of
// the caller's, by the first call with that buffer, which all ranks must then make with a
// new one.
type Exchange struct {
	Shared     *ShareMemHandles
	Send, Recv *P2PCommunication
}

// Owner is the statement of the rank whose buffer the peer uses, Copier the one that copies.
func (e *Exchange) Owner() *P2PCommunication {
	if e.Send.Owns() {
		return e.Send
	}
	return e.Recv
}

// Copier is the statement that copies.
func (e *Exchange) Copier() *P2PCommunication {
	if e.Send.Owns() {
		return e.Recv
	}
	return e.Send
}

// Exchanges finds the exchanges of a program, by the handles of both of their statements.
// Transfers that no ShareMemHandles pairs are left out; Verify reports them.
func Exchanges(p *Program) map[string]*Exchange {
	transfers := map[string]*P2PCommunication{}
	Walk(p.Body, func(s Stmt) bool {
		if t, ok := s.(*P2PCommunication); ok {
			transfers[t.Handle] = t
		}
		return true
	})
	exchanges := map[string]*Exchange{}
	Walk(p.Body, func(s Stmt) bool {
		if shared, ok := s.(*ShareMemHandles); ok {
			sends, receives := sides(shared, transfers)
			for i := range min(len(sends), len(receives)) {
				e := &Exchange{shared, sends[i], receives[i]}
				if exchanges[e.Send.Handle] == nil && exchanges[e.Recv.Handle] == nil {
					exchanges[e.Send.Handle], exchanges[e.Recv.Handle] = e, e
				}
			}
		}
		return true
	})
	return exchanges
}

// sides lists the sends and the receives that a statement names.
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
