package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// shared checks the transfers over CUDA IPC. A ShareMemHandles before each transfer has to pair the transfer with its
// counterpart. The owner's statement has to precede the copier's, so that two ranks cannot wait for each other.
func (v *verifier) shared() {
	exchanges := hostir.Exchanges(v.program)
	named := map[string]bool{}
	for share := range hostir.Each[*hostir.ShareMemHandles](v.program.Body) {
		v.pairs(share, exchanges, named)
	}
	v.sharedIn(v.program.Body, exchanges, map[hostir.Stmt]bool{})
}

// pairs checks the communications of a single ShareMemHandles. named has the handles that earlier ShareMemHandles name;
// pairs adds to it.
func (v *verifier) pairs(s *hostir.ShareMemHandles, exchanges map[string]*hostir.Exchange, named map[string]bool) {
	if s.Mesh != nil && s.Mesh.Axis(s.MeshAxis) == nil {
		v.breach(s, "shared", "mesh %s has no axis %q", s.Mesh.Name, s.MeshAxis)
		return
	}
	for _, handle := range s.Comms {
		e := exchanges[handle]
		switch {
		case named[handle]:
			v.breach(s, "shared", "%s is shared twice", handle)
			continue
		case e == nil || e.Shared != s:
			v.breach(s, "shared", "%s is no send or receive with a counterpart among %v", handle, s.Comms)
			continue
		}
		named[handle] = true
		if e.Send.Handle == handle {
			v.pair(s, e)
		}
	}
}

func (v *verifier) pair(s *hostir.ShareMemHandles, e *hostir.Exchange) {
	send, recv := e.Send, e.Recv
	switch {
	case send.Backend != recv.Backend || !send.Backend.IPC():
		v.breach(s, "shared", "%s and %s are not of one backend that shares memory", send.Handle, recv.Handle)
	case send.Locality != recv.Locality || send.Locality == hostir.InterNode:
		v.breach(s, "locality", "%s and %s take place with other peers than those that memory is shared with", send.Handle, recv.Handle)
	case send.Buffer.DType != recv.Buffer.DType || hostir.LocalElements(send.Buffer) != hostir.LocalElements(recv.Buffer):
		v.breach(s, "shared", "%s sends %d elements of %s and %s receives %d of %s", send.Handle,
			hostir.LocalElements(send.Buffer), send.Buffer.DType, recv.Handle, hostir.LocalElements(recv.Buffer), recv.Buffer.DType)
	}
}

// sharedIn checks the positions of the statements in one list. seen contains all earlier statements.
func (v *verifier) sharedIn(body []hostir.Stmt, exchanges map[string]*hostir.Exchange, seen map[hostir.Stmt]bool) {
	for _, s := range body {
		seen[s] = true
		for _, inner := range hostir.Bodies(s) {
			v.sharedIn(*inner, exchanges, seen)
		}
		if s, ok := s.(*hostir.P2PCommunication); ok && s.Backend.IPC() {
			v.sharedAt(s, exchanges[s.Handle], seen)
		}
	}
}

func (v *verifier) sharedAt(s *hostir.P2PCommunication, e *hostir.Exchange, seen map[hostir.Stmt]bool) {
	if e == nil || !slices.Contains(e.Shared.Comms, s.Handle) {
		v.breach(s, "shared", "no ShareMemHandles pairs %s with its counterpart", s.Handle)
		return
	}
	if !seen[e.Shared] {
		v.breach(s, "shared", "%s does not follow its ShareMemHandles", s.Handle)
	}
	if s == e.Copier() && !seen[e.Owner()] {
		v.breach(s, "shared", "%s copies before %s sets its ready flag: two ranks would wait for each other", s.Handle, e.Owner().Handle)
	}
}
