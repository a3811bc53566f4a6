package cost

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// newUnrolling prepares to convert a program's statements to tasks, rank by rank in the order of issue.
// Loops, streams and handles behave as in the interpreter.
func newUnrolling(p *hostir.Program, m *Machine) (*unrolling, error) {
	if len(p.Meshes) == 0 {
		return nil, fmt.Errorf("program %s has no mesh to run on", p.Name)
	}
	u := &unrolling{
		machine: m, program: p, numbers: map[int]int32{}, exchanges: hostir.Exchanges(p),
		works: map[hostir.Stmt]work{}, teams: map[teamOf]*team{},
		byRanks: map[string]*team{}, meetings: map[meetingKey]*meeting{}, transfers: map[transferKey]*flags{},
	}
	for i, r := range p.Meshes[0].Ranks {
		u.numbers[r] = int32(i)
		u.places = append(u.places, int32(i))
	}
	return u, nil
}

// issue issues the program on some ranks, by their places in the world: on all ranks, or on one rank of each
// class.
func (u *unrolling) issue(places []int32) error {
	for _, place := range places {
		rank := newRank(u, place, u.program.Meshes[0].Ranks[place])
		if err := rank.call(); err != nil {
			return err
		}
		u.hosts = append(u.hosts, rank.host)
	}
	return u.complete()
}

// rank issues the statements of one rank.
type rank struct {
	*unrolling
	*hostir.Issue
	place   int32            // among the ranks of the world
	number  int              // world rank
	byName  map[string]int32 // streams
	workers []int32          // compute streams; -1 until first used
	current int32
	started hostir.Started[int32] // tasks that Waits wait for
	turns   map[int32]int32       // how many meetings of each team this rank has joined
	group   *group                // the open group
	last    batch
	sum     *work     // of the current PeerReadSum
	reads   []int32   // joints that it waits for
	writes  []int32   // joints that it signals
	joints  int32     // that the rank has taken part in
	keys    *[]uint64 // keys of the joints, while classes are computed
	host    float64
}

func newRank(u *unrolling, place int32, number int) *rank {
	r := &rank{
		unrolling: u, place: place, number: number, byName: map[string]int32{},
		started: hostir.Started[int32]{}, turns: map[int32]int32{},
	}
	r.Issue = hostir.NewIssue(u.program, number, r.statement)
	r.Turn, r.Fail = r.turn, r.fail
	for range u.program.Streams {
		r.workers = append(r.workers, -1)
	}
	return r
}

// call issues one call of the program.
func (r *rank) call() error {
	r.current = r.named(hostir.Caller)
	start := work{fixed: r.machine.Device.Call, host: r.machine.Host.Call}
	if captured(r.program) { // the launch is not a node of the graph
		start = work{fixed: r.machine.Device.Graph, host: r.machine.Host.Graph}
	}
	r.host += start.host
	r.streams[r.current].last = r.add(task{work: start, stream: r.current, ranks: r.self(), issued: r.host})
	return r.List(r.program.Body)
}

func (r *rank) named(name string) int32 {
	if i, ok := r.byName[name]; ok {
		return i
	}
	r.byName[name] = r.newStream(name)
	return r.byName[name]
}

func (r *rank) newStream(name string) int32 {
	r.streams = append(r.streams, stream{r.place, name, -1})
	return int32(len(r.streams) - 1)
}

// issue appends a task to a stream. The task also waits for the tasks in after. Its field issued is the time
// at which the host has issued it.
func (r *rank) issue(on int32, s hostir.Stmt, w work, after ...int32) int32 {
	if captured(r.program) {
		w = r.machine.inGraph(w)
	}
	r.host += w.host
	t := r.add(task{work: w, stmt: s, stream: on, ranks: r.self(), issued: r.host})
	r.follow(t, r.streams[on].last)
	for _, other := range after {
		r.follow(t, other)
	}
	r.streams[on].last, r.last = t, batch{}
	return t
}

// self returns a list of the rank only, in the form of task.ranks.
func (r *rank) self() []int32 { return r.alone(r.place) }

// errTooMany is the error of a program with more calls than MaxCalls.
var errTooMany = errors.New("too many calls")

// turn limits the number of iterations and calls.
func (r *rank) turn() error {
	if r.iterations++; r.iterations > MaxCalls || len(r.tasks) > MaxCalls {
		return errTooMany
	}
	return nil
}

// statement issues a statement.
func (r *rank) statement(s hostir.Stmt) error {
	switch s.(type) {
	case *hostir.Allocate, *hostir.Deallocate, *hostir.GetCurrentStream, *hostir.ShareMemHandles:
		return nil
	}
	on, err := r.target(s, s.Meta().On)
	if err != nil {
		return err
	}
	r.current = on
	switch s := s.(type) {
	case *hostir.Synchronize:
		target, err := r.target(s, s.Stream)
		if err == nil {
			r.behind(s, r.streams[target].last)
		}
		return err
	case *hostir.Delay:
		r.issue(r.current, s, work{fixed: float64(s.Microseconds), host: r.machine.Host.Kernel})
	case *hostir.StartCoalescing:
		r.group = &group{}
	case *hostir.Communication, *hostir.P2PCommunication, *hostir.EndCoalescing, *hostir.Wait, *hostir.PeerReadSum:
		return r.transfer(s)
	default:
		r.compute(s)
	}
	return nil
}

func (r *rank) target(s hostir.Stmt, ref hostir.StreamRef) (int32, error) {
	if ref.Index == nil {
		return r.named(ref.String()), nil
	}
	index, err := r.EvalIn(s, ref.Index)
	if err != nil || index < 0 || index >= int64(len(r.workers)) {
		return 0, r.fail(s, "there is no worker %d among %d", index, len(r.workers))
	}
	if r.workers[index] < 0 {
		r.workers[index] = r.newStream("compute " + strconv.FormatInt(index, 10))
	}
	return r.workers[index], nil
}

// behind makes the current stream wait for a task of another stream, by an event.
func (r *rank) behind(s hostir.Stmt, other int32) {
	w := work{host: 2 * r.machine.Host.Event}
	if other >= 0 && r.tasks[other].stream != r.current {
		w.fixed = r.machine.Device.Event
	}
	r.issue(r.current, s, w, other)
}

// compute issues a statement that computes on the current stream.
func (r *rank) compute(s hostir.Stmt) {
	if !r.holds(hostir.Result(s)) {
		return
	}
	w, ok := r.works[s]
	if !ok {
		w = r.machine.workOf(s)
		r.works[s] = w
	}
	r.issue(r.current, s, w)
}

// holds reports whether the rank has a part of t.
func (r *rank) holds(t *hostir.Tensor) bool {
	return t == nil || t.Mesh == nil || len(t.Mesh.Axes) == 0 || t.Mesh.Coordinate(r.number, t.Mesh.Axes[0].Name) >= 0
}

func (r *rank) fail(s hostir.Stmt, format string, args ...any) error {
	return fmt.Errorf("%s, rank %d, %s: %s", s.Meta().Pos, r.number, nameOf(s), fmt.Sprintf(format, args...))
}

// captured reports whether a call is launched as one CUDA graph.
func captured(p *hostir.Program) bool { return p.Choices.Get(schedule.Graph) == schedule.True }

// copiedByKernel reports whether a kernel, not a copy engine, makes a transfer over CUDA IPC.
func copiedByKernel(p *hostir.Program, s *hostir.P2PCommunication) bool {
	return p.Choices.Of(s.Of, schedule.Copy) != schedule.Engine
}
