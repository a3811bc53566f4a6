package fromhost

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// limited finds the transfers that take place with some peers alone, by handle.
func limited(body []hostir.Stmt) map[string]*hostir.P2PCommunication {
	found := map[string]*hostir.P2PCommunication{}
	hostir.Walk(body, func(s hostir.Stmt) bool {
		if t, ok := s.(*hostir.P2PCommunication); ok && t.Locality != hostir.AnyNode {
			found[t.Handle] = t
		}
		return true
	})
	return found
}

// onlyWithPeers puts what a transfer does, or what a wait for it does, under the condition that the peer
// is one that it takes place with; by gives loop variables other iterations than that at hand.
func (b *builder) onlyWithPeers(handle string, by map[string]expr.Expr, list []calls.Stmt) []calls.Stmt {
	t := b.limited[handle]
	if t == nil || len(list) == 0 {
		return list
	}
	peer := b.spelled(expr.Substitute(b.peerOf(t).rank, by))
	return []calls.Stmt{&calls.If{PeerAccess: peer, InterNode: t.Locality == hostir.InterNode, Body: list}}
}
