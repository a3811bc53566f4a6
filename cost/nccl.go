package cost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/issue"
)

type (
	// team has the ranks of a communicator, by their places in the world, and how they are spread over nodes.
	team struct {
		members []int32
		lies    spread
	}
	// meetingKey identifies a collective by its communicator and turn, and a message also by its two ranks. Turns
	// number the meetings with otherwise equal keys in the order of issue. With classes, comm is the group of the
	// joint, and the other fields are constant.
	meetingKey struct{ comm, from, to, turn int32 }
	// meeting is a task that starts when all ranks of its team, or both ranks of its message, have arrived.
	meeting struct {
		task    int32
		arrived int
		of      int
		stmt    calls.Stmt
	}
	// together adds up the collectives of one form on one communicator in a group. stmt is the first of them.
	together struct {
		stmt  calls.Stmt
		comm  int32
		form  collective.Form
		bytes float64
	}
)

// nccl issues a call or a group as two tasks, the begin and the end of the communications, which run between them. Collectives of one
// form on one communicator in a group count as one, which moves the bytes of all.
func (r *rank) nccl(s calls.Stmt, stream calls.Stream, body []calls.Stmt) {
	var arrives []int32
	moved := map[bool]float64{} // bytes by direction: sent (false) and received (true)
	var all []together
	r.walk.Run(body, func(part calls.Stmt) {
		call, ok := part.(*calls.NcclCall)
		if !ok {
			return
		}
		for _, p := range r.walk.Parts(call) {
			if p.Kind != issue.Collective {
				for _, m := range r.arrive(call, p) {
					arrives = append(arrives, m)
					moved[p.Kind == issue.Recv] += r.tasks[m].moved
				}
				continue
			}
			form := collective.Of(call.Kind).Form
			i := slices.IndexFunc(all, func(c together) bool { return c.comm == p.Comm && c.form == form })
			if i < 0 {
				i, all = len(all), append(all, together{call, p.Comm, form, 0})
			}
			all[i].bytes += float64(p.Count * call.Type.Size())
		}
	})
	for _, c := range all {
		t := r.team(c.comm)
		sent, received := c.form.Slices(int64(len(t.members)))
		w := r.machine.collective(c.form, float64(sent)*c.bytes, float64(received)*c.bytes, t.lies)
		arrives = append(arrives, r.meet(c.stmt, meetingKey{comm: c.comm, from: -1, to: -1}, t.members, w))
		moved[false] += w.moved
	}
	if r.err != nil || len(arrives) == 0 {
		return
	}
	on := r.on(s, stream)
	begin := r.issue(on, s, work{host: r.machine.Host.NCCL})
	for _, m := range arrives {
		r.follow(m, begin)
	}
	end := work{kind: NCCLCall, moved: max(moved[true], moved[false])}
	r.tasks[r.issue(on, s, end, arrives...)].opens = begin
}

// arrive takes part in a message, and returns a list with the message's task. A message of a rank to itself is a
// local copy: the send returns its task, and the receive returns nil.
func (r *rank) arrive(s *calls.NcclCall, p issue.Part) []int32 {
	bytes := float64(p.Count * s.Type.Size())
	a, b := r.place, r.place
	switch p.Kind {
	case issue.Send:
		b = r.place32(p.Peer)
	case issue.Recv:
		a = r.place32(p.Peer)
	}
	key, members := meetingKey{comm: p.Comm, from: a, to: b}, []int32{a, b}
	if a != b {
		return []int32{r.meet(s, key, members, r.machine.pairWork(int64(bytes), r.machine.together(a, b)))}
	}
	if p.Kind == issue.Recv {
		return nil
	}
	return []int32{r.meet(s, key, members[:1], r.machine.bytesWork(2*bytes))}
}

// team returns the ranks of a communicator.
func (u *unrolling) team(comm int32) *team {
	t := u.lies[comm]
	if t == nil {
		t = &team{}
		for _, other := range u.world.Comms()[comm].Ranks {
			t.members = append(t.members, u.place32(other))
		}
		t.lies = u.machine.spreadOf(t.members)
		u.lies[comm] = t
	}
	return t
}

// meet arrives at the next meeting with a key, and returns its task. The first rank creates the meeting.
func (r *rank) meet(s calls.Stmt, key meetingKey, members []int32, w work) int32 {
	turn := r.turns[key]
	r.turns[key]++
	key.turn = turn
	if at := r.joint(key); r.classes != nil {
		key.comm, members = r.classes.meeting(at, members)
		key.from, key.to, key.turn = -1, -1, 0
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
