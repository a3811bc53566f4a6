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

// kernelsSignal reports whether a kernel sets the flags of a group, or waits for them: in a graph, and where kernels copy
// for any of its transfers.
func (b *builder) kernelsSignal(members []hostir.Stmt) bool {
	return isGraph(b.program) || hostir.Any(members, func(s hostir.Stmt) bool {
		switch s := s.(type) {
		case *hostir.P2PCommunication:
			return b.kernelsCopy(s.Of)
		case *hostir.Wait:
			e := b.pairs[s.Handle]
			return e != nil && b.kernelsCopy(e.Send.Of)
		}
		return false
	})
}
