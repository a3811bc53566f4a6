package cost

import "github.com/hirgen/hirgen/lowering/hostir"

// Kind says what a call does.
type Kind uint8

// The kinds of call.
const (
	EventWait Kind = iota // its stream waits for an event of another one
	FlagWrite             // tells a peer that it may go on
	FlagWait              // waits for a peer's flag
	GEMM                  // a matrix multiplication
	Kernel                // any other kernel on this rank's memory
	PeerRead              // a kernel that reads peer memory, adds, and may store there
	Copy                  // a transfer to or from a peer, by a copy engine or a kernel
	NCCLCall              // a communication over NCCL
	joint                 // ties calls of several ranks together; it is none itself
)

// String is what traces call a kind.
func (k Kind) String() string {
	return [...]string{"event wait", "flag write", "flag wait", "gemm", "kernel", "kernel", "copy", "nccl", "joint"}[k]
}

// Computes reports whether a call works on its rank's own memory alone.
func (k Kind) Computes() bool { return k == GEMM || k == Kernel }

// Moves reports whether a call moves data between ranks.
func (k Kind) Moves() bool { return k >= PeerRead && k <= NCCLCall }

// queues reports whether a call gets SMs in the order in which calls begin.
func (k Kind) queues() bool { return k.Computes() || k == PeerRead }

// work is what a call asks of the GPU that it runs on, and how long it takes alone.
type work struct {
	kind  Kind
	fixed float64 // first it takes so long, and uses nothing but its stream
	alone float64 // then so long, if it has what it uses to itself
	sms   float64 // shares of a GPU that it uses meanwhile: of the SMs,
	hbm   float64 // of memory bandwidth,
	in    float64 // of the links from its peers,
	out   float64 // and of those to them
	gemm  *gemm   // of a GEMM
	// crosses says that in and out are of the network between nodes, rather than of the links inside one.
	crosses bool
	host    float64 // what issuing it takes of the host
}

// task is one call of the unrolled program on one stream of one rank, or a joint.
type task struct {
	work
	stmt   hostir.Stmt
	stream int32 // index of unrolling.streams; -1 for none
	ranks  []int32
	opens  int32 // the task with which this one's communication begins; -1 for itself
	before int32 // tasks that have to end first
	first  int32 // index of the first edge to a task that waits for this one; -1 for none
	issued float64

	// What the simulation finds.
	start, begin, end float64 // begin is where the fixed part is over
	cause             int32   // the task whose end let it start; -1 for none
	left, since, rate float64
	local             []float64 // the rates on its ranks
	version           int32
	waited            bool // for SMs
}

// edge is one of the tasks that wait for a task.
type edge struct{ to, next int32 }

// stream is a queue of one rank.
type stream struct {
	rank int32
	name string
	last int32 // the task issued to it last; -1 for none
}

// unrolling is a program as tasks of all ranks.
type unrolling struct {
	machine    *Machine
	program    *hostir.Program
	numbers    map[int]int32 // of the world's ranks
	places     []int32       // 0, 1, ... for each of them
	iterations int           // of all loops
	tasks      []task
	edges      []edge
	streams    []stream
	exchanges  map[string]*hostir.Exchange
	stays      map[hostir.Stmt]bool // collectives on the caller's stream; nil until one is asked for
	works      map[hostir.Stmt]work
	world      *team // of all ranks; nil until one is asked for
	teams      map[teamOf]*team
	byRanks    map[string]*team
	meetings   map[meetingKey]*meeting
	transfers  map[transferKey]*flags
	hosts      []float64 // time that each rank's host takes
	classes    *classes  // nil: each rank is issued
}

// alone is one rank, as tasks have their ranks.
func (u *unrolling) alone(place int32) []int32 { return u.places[place : place+1 : place+1] }

func (u *unrolling) add(t task) int32 {
	t.first, t.cause, t.opens = -1, -1, -1
	u.tasks = append(u.tasks, t)
	return int32(len(u.tasks) - 1)
}

// follow makes a task wait for another one; -1 is none.
func (u *unrolling) follow(t, other int32) {
	if other >= 0 {
		u.tasks[t].before++
		u.leads(other, t)
	}
}

// leads notes that a task waits for another one, and is counted already.
func (u *unrolling) leads(other, t int32) {
	u.edges = append(u.edges, edge{t, u.tasks[other].first})
	u.tasks[other].first = int32(len(u.edges) - 1)
}
