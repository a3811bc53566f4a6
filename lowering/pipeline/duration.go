package pipeline

import (
	"sync"

	"github.com/hirgen/hirgen/lowering/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// machine is the one whose figures decide the order of issue. It is the same for all ranks and for all
// machines that a program runs on, since the ranks have to issue alike; only ratios matter.
var machine = sync.OnceValue(func() *cost.Machine {
	m, err := cost.LoadMachine("h200")
	if err != nil {
		panic("pipeline: " + err.Error())
	}
	return m
})

// duration is how long an instance of the task takes by itself, in ns.
func (t *Task) duration() int64 { return int64(1e3 * machine().Alone(t.Stmt)) }

// arrival is how long a transfer takes until its data is there, in ns, whichever side copies: the peer copies as this rank does.
func (t *Task) arrival() int64 {
	if t.Exchange == nil {
		return t.duration()
	}
	return int64(1e3 * machine().Alone(t.Exchange.Copier()))
}

// resource is what the task keeps busy: the caller's stream, the stream of a communicator, or that of
// copies between shared memories.
func (t *Task) resource() string {
	switch s := t.Stmt.(type) {
	case *hostir.Communication:
		return "communicator " + s.Mesh.Name + " " + s.MeshAxis
	case *hostir.P2PCommunication:
		if t.Exchange != nil {
			return hostir.CopyStream
		}
		return "communicator"
	default:
		return onCaller
	}
}
