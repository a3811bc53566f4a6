package cost

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

type (
	// teamOf identifies the team of a rank in a communication.
	teamOf struct {
		stmt  *hostir.Communication
		place int32
	}
	// team is the ranks of a communicator, by their places in the world.
	team struct {
		number  int32
		stream  string // its name on each of its ranks
		members []int32
		lies    spread
	}
	// meetingKey numbers the communications of a team, which run in the order of issue.
	meetingKey struct{ team, turn int32 }
	// meeting is a task that starts when all ranks of a team have arrived.
	meeting struct {
		task    int32
		arrived int
		of      int
		stmt    hostir.Stmt
	}
)

// transfer issues the statements that concern communication.
func (r *rank) transfer(s hostir.Stmt) error {
	switch s := s.(type) {
	case *hostir.EndCoalescing:
		return r.closeGroup(s)
	case *hostir.Wait:
		return r.wait(s)
	case *hostir.PeerReadSum:
		return r.peerReadSum(s)
	case *hostir.Communication:
		return r.collective(s)
	case *hostir.P2PCommunication:
		switch {
		case !r.holds(s.Buffer):
			return nil
		case s.Backend.IPC():
			return r.shared(s)
		}
		return r.pair(s)
	}
	return nil
}

// teamAt returns the communicator of some ranks. The first use decides its name.
func (u *unrolling) teamAt(ranks []int, called string) *team {
	key := fmt.Sprint(ranks)
	found := u.byRanks[key]
	if found == nil {
		found = &team{number: int32(len(u.byRanks)), stream: "communicator, " + called}
		for _, other := range ranks {
			found.members = append(found.members, u.numbers[other])
		}
		u.byRanks[key] = found
	}
	return found
}

// spread returns how the team's ranks are distributed over nodes.
func (t *team) spread(m *Machine) spread {
	if t.lies.nodes == 0 {
		t.lies = m.spreadOf(t.members)
	}
	return t.lies
}

// teamFor returns the communicator of a collective that contains the rank, or nil if the rank takes no part.
func (r *rank) teamFor(s *hostir.Communication) *team {
	key := teamOf{s, r.place}
	found, known := r.teams[key]
	if !known {
		if ranks := s.Team(r.number); ranks != nil {
			called := "mesh " + s.Mesh.Name
			if s.MeshAxis != "" {
				called += " axis " + s.MeshAxis
			}
			found = r.teamAt(ranks, called)
		}
		r.teams[key] = found
	}
	return found
}

// collective starts a communication of a team, or adds it to the open group.
func (r *rank) collective(s *hostir.Communication) error {
	if s.Type == collective.SendRecv {
		return r.sendRecv(s)
	}
	t := r.teamFor(s)
	if t == nil {
		return nil
	}
	return r.start(s.Handle, s, t, r.join(s, t, r.machine.collective(s, t.spread(r.machine))))
}

// sendRecv issues the transfers between ranks at the same place in two meshes: a send, a receive or both.
func (r *rank) sendRecv(s *hostir.Communication) error {
	from, to := slices.Index(s.In.Mesh.Ranks, r.number), slices.Index(s.Out.Mesh.Ranks, r.number)
	bytes := bytesOf(s.Out)
	var arrives []int32
	if from >= 0 && from != to {
		arrives = append(arrives, r.joinPair(s, r.number, s.Out.Mesh.Ranks[from], bytes))
	}
	if to >= 0 && from != to {
		arrives = append(arrives, r.joinPair(s, s.In.Mesh.Ranks[to], r.number, bytes))
	}
	if from >= 0 && from == to {
		arrives = append(arrives, r.join(s, r.teamAt([]int{r.number}, "itself"), r.machine.bytesWork(2*float64(bytes))))
	}
	if len(arrives) == 0 {
		return nil
	}
	return r.start(s.Handle, s, r.all(), arrives...)
}

// pair issues a send or a receive over NCCL.
func (r *rank) pair(s *hostir.P2PCommunication) error {
	peer, err := r.EvalIn(s, s.Peer)
	if err != nil {
		return err
	}
	if !s.Locality.Includes(r.machine.together(r.place, r.numbers[int(peer)])) {
		return nil
	}
	from, to := r.number, int(peer)
	if !s.Send {
		from, to = to, from
	}
	return r.start(s.Handle, s, r.all(), r.joinPair(s, from, to, bytesOf(s.Buffer)))
}

// all returns the communicator of all ranks, which carries messages between two ranks.
func (u *unrolling) all() *team {
	if u.world == nil {
		u.world = u.teamAt(u.program.Meshes[0].Ranks, "mesh "+u.program.Meshes[0].Name)
	}
	return u.world
}

// join arrives at the next meeting of a team.
func (r *rank) join(s hostir.Stmt, t *team, w work) int32 {
	turn := r.turns[t.number]
	r.turns[t.number]++
	return r.meet(s, meetingKey{t.number, turn}, t.members, w)
}

// joinPair is join for a message from one rank to another.
func (r *rank) joinPair(s hostir.Stmt, from, to int, bytes int64) int32 {
	a, b := r.numbers[from], r.numbers[to]
	pair := -1 - a*int32(len(r.numbers)) - b
	turn := r.turns[pair]
	r.turns[pair]++
	return r.meet(s, meetingKey{pair, turn}, []int32{a, b}, r.machine.pairWork(bytes, r.machine.together(a, b)))
}

// meet arrives at a meeting, and creates it if the rank is the first.
func (r *rank) meet(s hostir.Stmt, key meetingKey, members []int32, w work) int32 {
	if at := r.joint(key); r.classes != nil {
		key, members = r.classes.meeting(at, members)
	}
	m := r.meetings[key]
	if m == nil {
		m = &meeting{of: len(members), stmt: s}
		m.task = r.add(task{work: w, stmt: s, stream: -1, ranks: members})
		r.tasks[m.task].kind = joint
		r.meetings[key] = m
	}
	m.arrived++
	return m.task
}

// start issues two calls, the begin and the end of a communication, which runs between them. Both are on the
// communicator's stream, or on the caller's stream if nothing could run at the same time.
func (r *rank) start(handle string, s hostir.Stmt, t *team, arrives ...int32) error {
	if r.group != nil {
		r.group.team, r.group.arrives = t, append(r.group.arrives, arrives...)
		return nil
	}
	if r.stays == nil {
		r.stays = staysOnCaller(r.program)
	}
	on, handOver := r.named(t.stream), work{fixed: r.machine.Device.Event, host: r.machine.Host.NCCL + 2*r.machine.Host.Event}
	if r.stays[s] {
		on, handOver = r.current, work{host: r.machine.Host.NCCL}
	}
	begin := r.issue(on, s, handOver, r.streams[r.current].last)
	for _, m := range arrives {
		r.follow(m, begin)
	}
	end := r.issue(on, s, work{kind: NCCLCall, host: r.machine.Host.Event}, arrives...)
	r.tasks[end].opens = begin
	r.started.Note(r.Issue, handle, end)
	return nil
}
