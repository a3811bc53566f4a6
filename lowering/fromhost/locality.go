package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// limited returns, by handle, the transfers that run only between ranks of one node, or only between nodes.
func limited(body []hostir.Stmt) map[string]*hostir.P2PCommunication {
	found := map[string]*hostir.P2PCommunication{}
	for t := range hostir.Each[*hostir.P2PCommunication](body) {
		if t.Locality != hostir.AnyNode {
			found[t.Handle] = t
		}
	}
	return found
}

// onlyWithPeers wraps the calls of a transfer, or of a wait for the transfer, in a condition on the peer, if the
// transfer runs only within a node or only between nodes. by replaces loop variables, to select another iteration.
func (b *builder) onlyWithPeers(handle string, by map[string]expr.Expr, list []calls.Stmt) []calls.Stmt {
	t := b.limited[handle]
	if t == nil || len(list) == 0 {
		return list
	}
	peer := b.spelled(expr.Substitute(b.peerOf(t).rank, by))
	return []calls.Stmt{&calls.If{PeerAccess: peer, InterNode: t.Locality == hostir.InterNode, Body: list}}
}
