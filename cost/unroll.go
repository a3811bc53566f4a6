package cost

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
)

// newUnrolling prepares to convert a program's statements to tasks, rank by rank in the order of issue.
func newUnrolling(p *calls.Program, m *Machine) *unrolling {
	u := &unrolling{
		machine: m, program: p, effects: effects.New(p), sizes: map[*calls.Gemm]GEMMSize{}, numbers: p.Ranks(), place: map[int64]int32{},
		works: map[calls.Stmt]work{}, lies: map[int32]*team{}, meetings: map[meetingKey]*meeting{}, flags: map[flagKey]int32{},
		names: map[string]string{}, limit: math.Inf(1),
	}
	for _, l := range p.Labels {
		_, u.names[l.Name], _ = strings.Cut(l.Text, " ")
	}
	nodes := make([]int, slices.Max(u.numbers)+1)
	for i, r := range u.numbers {
		u.place[r] = int32(i)
		u.places = append(u.places, int32(i))
		if m.Nodes != nil {
			nodes[r] = i / m.Nodes.Ranks
		}
	}
	u.world = issue.New(p, nodes)
	return u
}

// issue issues the program on some ranks, by their places in the world: on all ranks, or on one rank of each class.
// It returns errTooSlow if the first rank alone takes longer than u.limit.
func (u *unrolling) issue(places []int32) error {
	for i, place := range places {
		rank := newRank(u, place)
		if err := rank.call(); err != nil {
			return err
		}
		if others := len(places) - 1; i == 0 { // the other ranks issue about as much
			u.tasks, u.edges = slices.Grow(u.tasks, others*len(u.tasks)), slices.Grow(u.edges, others*len(u.edges))
		}
		u.hosts = append(u.hosts, rank.host)
		if i == 0 && u.least(rank.host) > u.limit {
			return errTooSlow
		}
	}
	return u.complete()
}

// rank issues the statements of one rank.
type rank struct {
	*unrolling
	walk     *issue.Rank
	place    int32   // index of the rank among the ranks of the world
	byNumber []int32 // streams, by their numbers in the world; -1 until first used
	events   []int32 // by event: the last task on its stream before its record; -1: none
	turns    map[meetingKey]int32
	kernel   *calls.RowExchange // the row exchange that the last task was part of; nil: none
	joints   int32              // number of joints that the rank has taken part in
	keys     *[]uint64          // keys of the joints, while classes are computed; otherwise nil
	host     float64            // time that the host has taken to issue statements so far, in microseconds
	err      error
}

func newRank(u *unrolling, place int32) *rank {
	r := &rank{
		unrolling: u, walk: u.world.Rank(int32(u.numbers[place])), place: place, events: slices.Repeat([]int32{-1}, int(u.world.Events)),
		turns: map[meetingKey]int32{},
	}
	r.walk.Fault = func(s calls.Stmt, kind issue.FaultKind, format string, args ...any) {
		if kind == issue.Unreached {
			r.fail(&ReachError{s.Meta().Pos, u.nameOf(s)})
			return
		}
		r.fail(fmt.Errorf("%s, rank %d, %s: %s", s.Meta().Pos, r.walk.Number, u.nameOf(s), fmt.Sprintf(format, args...)))
	}
	return r
}

// fail records the first error, and issues nothing more.
func (r *rank) fail(err error) {
	if r.walk.Stop = true; r.err == nil {
		r.err = err
	}
}

// call issues one call of the program.
func (r *rank) call() error {
	start := work{fixed: r.machine.Device.Call, host: r.machine.Host.Call}
	if r.program.Graph { // the launch is not a node of the graph
		start = work{fixed: r.machine.Device.Graph, host: r.machine.Host.Graph}
	}
	r.host += start.host
	on := r.stream(issue.Caller)
	r.streams[on].last = r.add(task{work: start, stream: on, ranks: r.self(), issued: r.host})
	r.walk.Run(r.program.Body, r.statement)
	return r.err
}

// stream returns the index of a stream of this rank. It adds the stream on first use.
func (r *rank) stream(number int16) int32 {
	for int(number) >= len(r.byNumber) {
		r.byNumber = append(r.byNumber, -1)
	}
	if r.byNumber[number] < 0 {
		r.byNumber[number] = int32(len(r.streams))
		r.streams = append(r.streams, stream{r.place, r.streamName(number), -1})
	}
	return r.byNumber[number]
}

// streamName returns the name of a stream in traces: "compute 0", "copies", "communicator, mesh world",
// "team of UCC, mesh world".
func (u *unrolling) streamName(number int16) string {
	name := u.world.Streams[number]
	if u.world.IsCompute(number) {
		return strings.TrimSuffix(strings.Replace(name, "[", " ", 1), "]")
	}
	if name == calls.Copies {
		return "copies"
	}
	for _, team := range u.program.Teams {
		if team.Name+".stream" == name {
			_, where, _ := strings.Cut(team.Where, " ")
			if team.Via != "" {
				return "team of " + team.Library() + ", " + where
			}
			return "communicator, " + where
		}
	}
	return name
}

// issue appends a task to a stream, and returns its index. The task also waits for the tasks in after. Its field
// issued is the time at which the host has issued it.
func (r *rank) issue(on int32, s calls.Stmt, w work, after ...int32) int32 {
	if r.program.Graph {
		w = r.machine.inGraph(w)
	}
	if in := r.walk.Within; in != nil { // a row exchange is one kernel: it starts once, and local copies are free
		if r.kernel == in {
			w.fixed, w.host = 0, 0
		}
		if _, own := s.(*calls.Memcpy); own {
			w.alone = 0
		}
	}
	r.kernel = r.walk.Within
	r.host += w.host
	t := r.add(task{work: w, stmt: s, stream: on, ranks: r.self(), issued: r.host})
	r.follow(t, r.streams[on].last)
	for _, other := range after {
		r.follow(t, other)
	}
	r.streams[on].last = t
	return t
}

// self returns a list of the rank only, in the form of task.ranks.
func (r *rank) self() []int32 { return r.alone(r.place) }

// errTooMany is the error of a program with more calls than MaxCalls.
var errTooMany = errors.New("too many calls")

// errTooSlow is the error of a program that takes longer than the limit.
var errTooSlow = errors.New("too slow")

// on returns the stream that a statement uses.
func (r *rank) on(s calls.Stmt, on calls.Stream) int32 {
	n, _ := r.walk.On(s, on)
	return r.stream(n)
}

// nameOf returns the name of a statement in errors and traces of the emitted program: "Matmul of C_s",
// "gather: Allgather of A_s", "Synchronize(caller)".
func (u *unrolling) nameOf(s calls.Stmt) string {
	if name := u.names[s.Meta().Label]; name != "" {
		return name
	}
	return calls.Op(s)
}

// complete returns an error if only some ranks of a communication reach it, or if a task waits for a flag
// that no rank sets.
func (u *unrolling) complete() error {
	for _, m := range u.meetings {
		if m.arrived < m.of {
			return fmt.Errorf("%s: %d of %d ranks reach %s", m.stmt.Meta().Pos, m.arrived, m.of, u.nameOf(m.stmt))
		}
	}
	signalled := make([]bool, len(u.tasks))
	for _, e := range u.edges {
		signalled[e.to] = true
	}
	for _, t := range u.flags {
		if s := u.tasks[t].stmt; !signalled[t] {
			return fmt.Errorf("%s: no rank does what %s waits for", s.Meta().Pos, u.nameOf(s))
		}
	}
	return nil
}
