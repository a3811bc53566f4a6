package fromhost

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// isGraph reports whether a call is captured into a CUDA graph.
func isGraph(p *hostir.Program) bool { return p.Choices.Get(schedule.Graph) == schedule.True }

// kernelsCopy reports whether kernels copy what a communication moves between shared memories.
func (b *builder) kernelsCopy(of string) bool {
	return b.program.Choices.Of(of, schedule.Copy) != schedule.Engine
}
