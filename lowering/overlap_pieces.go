package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// OverlapPieces lets the sum of a piece, and what follows it, run on a worker stream beside the
// products of the next piece, where chunks say how many products a piece is made in. Products stay
// in order on the caller's stream: two at a time would end at the same time, and none of them
// would hide what the other one sends.
//
// Requires: loops over pieces are fused; they do not change the current stream.
// Establishes: with pieces, chunks and streams, no sum of a piece is on the stream of the products.
//
//	before: For piece: P_piece = Matmul(A_piece, B); R_piece = Reduce(P_parts_piece); ...
//	after:  For piece: SetCurrentStream(caller), P_piece = Matmul(A_piece, B)
//	          SetCurrentStream(worker), Synchronize(caller), R_piece = Reduce(P_parts_piece), ...
//	        For piece: SetCurrentStream(caller), Synchronize(worker)
func OverlapPieces(p *hostir.Program) error {
	if p.Choices.Pieces == 0 || p.Choices.Chunks == 0 || p.Streams == 0 {
		return nil
	}
	f := newPieceFusion(p)
	var caller hostir.StreamRef
	body := make([]hostir.Stmt, 0, len(p.Body)+1)
	for _, s := range p.Body {
		if get, ok := s.(*hostir.GetCurrentStream); ok {
			caller.Var = get.Var
		}
		body = append(body, s)
		loop := f.overPieces(s)
		if loop != nil && !hostir.Any(loop.Body, setsStream) && f.independent(loop.Var, loop.Body) {
			body = append(body, besideProducts(loop, caller, workerOf(p, loop.Var))...)
		}
	}
	p.Body = body
	return nil
}

// besideProducts lets what follows the products of a loop run on a worker stream, and gives the loop in
// which the caller waits for it; nothing changes where only views follow.
func besideProducts(loop *hostir.For, caller, worker hostir.StreamRef) []hostir.Stmt {
	cut := behindProducts(loop.Body)
	products, rest := loop.Body[:cut], loop.Body[cut:]
	if !slices.ContainsFunc(rest, func(s hostir.Stmt) bool { return !isSelect(s) }) {
		return nil
	}
	last := rest[len(rest)-1]
	loop.Body = slices.Concat([]hostir.Stmt{
		&hostir.SetCurrentStream{Info: hostir.InfoFrom(loop.Body[0], ""), Stream: caller},
	}, products, []hostir.Stmt{
		&hostir.SetCurrentStream{Info: hostir.InfoFrom(rest[0], "what follows runs beside the products of the next piece"), Stream: worker},
		&hostir.Synchronize{Info: hostir.InfoFrom(rest[0], ""), Stream: caller},
	}, rest)
	return []hostir.Stmt{&hostir.For{
		Info: hostir.InfoFrom(last, "the caller waits for what follows the products"),
		Var:  loop.Var, First: loop.First, Count: loop.Count,
		Body: []hostir.Stmt{
			&hostir.SetCurrentStream{Info: hostir.InfoFrom(last, ""), Stream: caller},
			&hostir.Synchronize{Info: hostir.InfoFrom(last, ""), Stream: worker},
		},
	}}
}

// behindProducts is the place behind the last product of a list.
func behindProducts(body []hostir.Stmt) int {
	at := len(body)
	for at > 0 && !hostir.Any(body[at-1:at], isProduct) {
		at--
	}
	return at
}

func isProduct(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Matmul, *hostir.Linear:
		return true
	default:
		return false
	}
}

func setsStream(s hostir.Stmt) bool {
	_, sets := s.(*hostir.SetCurrentStream)
	return sets
}
