package mutate

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

func wrongTransfer(e *editor) {
	shares := calls.ByName(e.program.Shares)
	each(func(e *editor, s calls.Stmt) {
		share, transfer := calls.TransferOf(s)
		if transfer != nil && e.here(s, "the next transfer") {
			*transfer = next(*transfer, shares[share].Transfers)
		}
	})(e)
}

func wrongFlag(e *editor) {
	each(func(e *editor, s *calls.FlagWrite) {
		if e.here(s, "done and ready exchanged") {
			s.Flag.Done = !s.Flag.Done
		}
	})(e)
	each(func(e *editor, s *calls.FlagWait) {
		if e.here(s, "done and ready exchanged") {
			s.Flag.Done = !s.Flag.Done
		}
	})(e)
}

func countedTwice(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		if calls.Is[*calls.BeginCall](s) && e.here(s, "twice on rank %d", e.last()) {
			return append(list[:i+1:i+1], append([]calls.Stmt{e.onLast(e.copied(s), nil)}, list[i+1:]...)...)
		}
	}
	return list
}

// last returns the rank on which mistakes of a single rank are made.
func (e *editor) last() int64 { return e.ranks - 1 }

// onLast returns an If: its body, there, runs on the last rank, and its else branch, elsewhere, on all other ranks.
func (e *editor) onLast(there, elsewhere []calls.Stmt) calls.Stmt {
	return &calls.If{Cond: expr.Op("==", expr.Var("rank"), expr.Int(e.last())), Body: there, Else: elsewhere}
}

// swapPeers replaces one peer by the rank after it. Each peer of a statement or pointer is a site.
func swapPeers(e *editor) {
	each(func(e *editor, s calls.Stmt) {
		change := func(peer *expr.Expr) {
			if *peer != nil && e.here(s, "the peer after %s", *peer) {
				*peer = next(*peer, expr.Int(e.ranks))
			}
		}
		for _, f := range calls.Fields(s) {
			switch v := f.Value.(type) {
			case *expr.Expr:
				if f.Key == "peer" {
					change(v)
				}
			case *calls.Pointer:
				change(&v.Peer)
			}
		}
	})(e)
}
