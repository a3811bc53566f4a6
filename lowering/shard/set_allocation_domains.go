package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// SetAllocationDomains sets the layout of every tensor that has none to the logical order of its axes.
//
// Requires: no pass of the sharding has changed a layout yet.
// Establishes: every tensor has a layout, and the layouts of inputs and outputs are logical.
//
//	before: tensor C: bf16 [S, M, N], output
//	after:  tensor C: bf16 [S, M, N], output, layout [0, 1, 2]
func SetAllocationDomains(p *hostir.Program) error {
	for _, t := range p.Tensors {
		t.Layout = hostir.Layout(t)
	}
	return nil
}
