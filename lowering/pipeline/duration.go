package pipeline

import (
	"sync"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// machine is the machine model that decides the order of issue and the groups of collectives. It does not depend on the machine that
// runs the program, because all ranks must issue in the same order. Only ratios of its times matter.
var machine = sync.OnceValue(func() *cost.Machine {
	m, err := cost.LoadMachine("h200")
	if err != nil {
		panic("pipeline: " + err.Error())
	}
	return m
})

// duration estimates how long one instance of the task takes alone, in ns.
func (t *Task) duration() int64 { return int64(1e3 * Alone(machine(), t.Stmt)) }

// arrival estimates how long a transfer takes until its data arrives, in ns. Over CUDA IPC this is the time of the copy, whichever
// rank copies.
func (t *Task) arrival() int64 {
	if t.Exchange == nil {
		return t.duration()
	}
	return int64(1e3 * Alone(machine(), t.Exchange.Copier()))
}

// communicator names the communicator of a collective. Collectives of one communicator run in the order of the program. Each backend
// has its own communicators and streams.
func communicator(c *hostir.Communication) string {
	return "communicator " + c.Mesh.Name + " " + c.MeshAxis + " " + string(c.Backend)
}

// resource names the resource that the task occupies: the caller's stream, the stream of a communicator, or
// the copy stream.
func (t *Task) resource() string {
	switch s := t.Stmt.(type) {
	case *hostir.Communication:
		return communicator(s)
	case *hostir.P2PCommunication:
		if t.Exchange != nil {
			return hostir.CopyStream
		}
		return "communicator"
	default:
		return onCaller
	}
}
