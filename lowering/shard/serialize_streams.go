package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// SerializeStreams makes Stream axes Serial, for preset: eager or none. Each communication is then one collective,
// and each computation one statement, and they run one after the other. That is fastest if the problem is too small
// for a pipeline to pay off.
//
// Establishes: with these presets, no tensor has an axis of kind Stream.
//
//	before: C = Matmul(A, B)     A [DIDx(D), m, K], C [Stream(D), m, N]
//	after:  C = Matmul(A, B)     A [DIDx(D), m, K], C [D, m, N]
func SerializeStreams(p *hostir.Program) error {
	if !p.Choices.Whole() {
		return nil
	}
	MakeSerial(p)
	return nil
}

// MakeSerial makes all Stream axes of a program Serial.
func MakeSerial(p *hostir.Program) {
	for _, t := range p.Tensors {
		unstreamed(t)
	}
}

// Streams reports whether a tensor of the program has a Stream axis.
func Streams(p *hostir.Program) bool {
	return slices.ContainsFunc(p.Tensors, func(t *hostir.Tensor) bool { return hostir.StreamAxis(t) >= 0 })
}
