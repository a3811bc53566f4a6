package verify

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// sum checks the transfers of a PeerReadSum, of which at least one must be a receive, and marks them as waited for.
func (f *flow) sum(s *hostir.PeerReadSum) {
	found := false
	f.block(s.Body)
	for inner := range hostir.All(s.Body) {
		switch inner := inner.(type) {
		case *hostir.For, *hostir.If:
		case *hostir.P2PCommunication:
			found = found || !inner.Send
			f.transferOf(s, inner)
		default:
			f.breach(inner, "sum", "%s stands in a sum, which holds transfers alone", hostir.Op(inner))
		}
	}
	if !found {
		f.breach(s, "sum", "%s reads nothing of its peers", text.Statement(s))
	}
}

// transferOf checks one transfer of a sum, and marks it as waited for.
func (f *flow) transferOf(s *hostir.PeerReadSum, t *hostir.P2PCommunication) {
	switch {
	case t.Owns() || !t.Backend.IPC():
		f.breach(t, "sum", "%s is no receive over IPC-get, nor a send over IPC-put: it uses no memory of a peer", t.Handle)
	case t.Locality != hostir.AnyNode:
		f.breach(t, "sum", "%s is %s, and a sum needs all parts", t.Handle, t.Locality)
	case f.behind(t.Buffer)[0] != f.behind(s.Out)[0]:
		f.breach(t, "sum", "%s is about %s, which is no part of %s", t.Handle, t.Buffer.Name, s.Out.Name)
	}
	f.set(started, t.Handle, false)
	f.set(waitedFor, t.Handle, true)
}
