package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// SerializeStreams makes Stream axes plain ones, as preset: eager asks for: then what
// crosses ranks is one collective, and what computes is one statement, one after the other.
// That is what is fastest where the problem is too small to be cut.
//
// Establishes: with preset: eager, no tensor has an axis of kind Stream.
//
//	before: C = Matmul(A, B)     A [DIDx(D), m, K], C [Stream(D), m, N]
//	after:  C = Matmul(A, B)     A [DIDx(D), m, K], C [D, m, N]
func SerializeStreams(p *hostir.Program) error {
	if !p.Choices.Whole() {
		return nil
	}
	for _, t := range p.Tensors {
		unstreamed(t)
	}
	return nil
}
