package cost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
)

// Kind is the type of a call.
type Kind uint8

// The kinds of call.
const (
	EventWait Kind = iota // a wait for an event, or another call that only takes time on its stream
	FlagWrite             // sets a flag for a peer
	FlagWait              // waits for a peer's flag
	GEMM                  // a matrix multiplication
	Kernel                // any other kernel on this rank's memory
	PeerRead              // a kernel that reads peer memory, adds, and may store there
	Copy                  // a transfer to or from a peer, by a copy engine or a kernel
	NCCLCall              // a communication over NCCL or UCC
	joint                 // connects calls of several ranks; it is not a call itself
)

// String returns the name of a kind in traces.
func (k Kind) String() string {
	return [...]string{"event wait", "flag write", "flag wait", "gemm", "kernel", "kernel", "copy", "nccl", "joint"}[k]
}

// Computes reports whether a call computes on its rank's own memory only.
func (k Kind) Computes() bool { return k == GEMM || k == Kernel }

// Moves reports whether a call moves data between ranks.
func (k Kind) Moves() bool { return k >= PeerRead && k <= NCCLCall }

// queues reports whether a call gets SMs in the order in which calls begin.
func (k Kind) queues() bool { return k.Computes() || k == PeerRead }

// work describes what a call uses of its GPU, and how long it takes alone.
type work struct {
	kind  Kind
	fixed float64 // microseconds at first, in which it only occupies its stream
	alone float64 // microseconds after that, if it does not share anything
	sms   float64 // share of the SMs that it uses then
	hbm   float64 // share of memory bandwidth
	in    float64 // share of the links from its peers
	out   float64 // share of the links to its peers
	gemm  *gemm   // the GEMM; nil for other work
	// crosses means that the fields in and out refer to the network between nodes, not to the links inside a node.
	crosses bool
	host    float64 // microseconds that the host takes to issue it
	moved   float64 // bytes that it sends or receives, whichever are more
}

// task is a call of the unrolled program on one stream of one rank, the begin or the end of a call of NCCL, or a joint.
type task struct {
	work
	stmt   calls.Stmt
	stream int32   // index of unrolling.streams; -1 for none
	ranks  []int32 // places of its ranks; of a transfer the rank that copies, then its peer
	opens  int32   // the task that begins the communication that this task ends; -1: this task ends none
	before int32   // number of tasks that have to end first
	first  int32   // index of the first edge to a task that waits for this one; -1 for none
	issued float64 // when the host has issued it, in microseconds

	// Results of the simulation.
	start, begin, end float64   // begin is after the fixed part and the wait for SMs
	cause             int32     // the last task that it waited for; -1 for none
	left, since, rate float64   // microseconds of alone that were left at the time since; rate relative to running alone
	local             []float64 // the rates on its ranks; nil before it begins
	version           int32     // counts changes; events of an earlier version are obsolete
	waited            bool      // whether it has waited for SMs
}

// edge is an entry in the list of tasks that wait for a task: the waiting task, and the index of the next entry; -1
// at the end.
type edge struct{ to, next int32 }

// stream is a queue of one rank.
type stream struct {
	rank int32
	name string
	last int32 // the last task issued to it; -1 for none
}

// unrolling is a program converted to tasks, for all ranks or for one rank of each class.
type unrolling struct {
	machine    *Machine
	program    *calls.Program
	world      *issue.World
	effects    *effects.Table
	sizes      map[*calls.Gemm]GEMMSize
	numbers    []int64         // numbers of the world's ranks
	place      map[int64]int32 // index of each rank in numbers
	places     []int32         // 0, 1, ... for each rank
	iterations int             // number of statements issued so far
	tasks      []task
	edges      []edge
	streams    []stream
	works      map[calls.Stmt]work // of statements whose work is the same on all ranks and in all iterations
	names      map[string]string   // names of statements in errors and traces, by label
	lies       map[int32]*team     // by communicator: its ranks
	meetings   map[meetingKey]*meeting
	flags      map[flagKey]int32 // the joints of flags, as indices of tasks
	hosts      []float64         // time that each rank's host takes to issue a call, in microseconds
	classes    *classes          // nil: all ranks are issued
	limit      float64           // the limit given to Estimate, in microseconds
}

// alone returns a list of one rank, in the form of task.ranks.
func (u *unrolling) alone(place int32) []int32 { return u.places[place : place+1 : place+1] }

func (u *unrolling) add(t task) int32 {
	t.first, t.cause, t.opens = -1, -1, -1
	u.tasks = append(u.tasks, t)
	return int32(len(u.tasks) - 1)
}

// follow makes a task wait for the task other, unless that is -1.
func (u *unrolling) follow(t, other int32) {
	if other >= 0 {
		u.tasks[t].before++
		u.leads(other, t)
	}
}

// leads adds an edge from other to t, without counting it in t's before.
func (u *unrolling) leads(other, t int32) {
	u.edges = append(u.edges, edge{t, u.tasks[other].first})
	u.tasks[other].first = int32(len(u.edges) - 1)
}
