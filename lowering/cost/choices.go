package cost

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// What the model asks of a program's schedule is here; all else it reads in the statements.

// captured reports whether a call is launched as one CUDA graph.
func captured(p *hostir.Program) bool { return p.Choices.Get(schedule.Graph) == schedule.True }

// copiedByKernel reports whether a kernel, and no copy engine, makes a transfer over CUDA IPC.
func copiedByKernel(p *hostir.Program, s *hostir.P2PCommunication) bool {
	return p.Choices.Of(s.Of, schedule.Copy) != schedule.Engine
}
