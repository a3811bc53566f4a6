package fromhost

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// isGraph reports whether calls are captured as a CUDA graph and replayed (graph: true).
func isGraph(p *hostir.Program) bool { return p.Choices.Get(schedule.Graph) == schedule.True }

// kernelsCopy reports whether kernels, and not copy engines, copy for a communication through shared memory.
func (b *builder) kernelsCopy(of string) bool {
	return b.program.Choices.Of(of, schedule.Copy) != schedule.Engine
}
