package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// transfer issues the statements that concern communication. A communication that is not over CUDA IPC runs on the stream
// that carrier returns. It starts after the tasks that were issued to the current stream before, and Wait makes the current
// stream follow its end.
func (r *rank) transfer(s hostir.Stmt) error {
	switch s := s.(type) {
	case *hostir.StartCoalescing:
		r.grouping = true
	case *hostir.EndCoalescing:
		r.grouping = false
		group := r.group
		r.group = nil
		if len(group) == 0 {
			r.skip(s.Handle, s)
		}
		return r.start(s.Handle, s, group)
	case *hostir.Wait:
		return r.wait(s)
	case *hostir.ShareMemHandles: // the interpreter has the memory of all ranks
	case *hostir.Communication, *hostir.P2PCommunication:
		if t, ok := s.(*hostir.P2PCommunication); ok && t.Backend.IPC() {
			return r.ipc(t)
		}
		parts, err := r.taken(s)
		if err != nil || len(parts) == 0 {
			return err
		}
		if r.grouping {
			r.group = append(r.group, parts...)
			return nil
		}
		return r.start(hostir.Handle(s), s, parts)
	}
	return nil
}

// wait makes the current stream follow the end of a communication. On a rank that never started the communication it
// does nothing. It fails if the rank started the communication only in other iterations.
func (r *rank) wait(s *hostir.Wait) error {
	if r.started[s.Handle] == nil {
		return nil
	}
	t, found, err := r.started.Awaited(r.Issue, s)
	if err != nil {
		return err
	}
	if !found {
		return r.fail(s, "%s was not started in this iteration", s.Handle)
	}
	r.issue(r.current, s, nil, t)
	return nil
}

// taken returns this rank's parts of a communication; none if it takes no part.
func (r *rank) taken(s hostir.Stmt) ([]*part, error) {
	switch s := s.(type) {
	case *hostir.Communication:
		if s.Type == collective.SendRecv {
			return r.sendRecv(s)
		}
		if s.Team(r.number) == nil {
			return nil, nil
		}
		p, err := r.collective(s)
		return []*part{p}, err
	case *hostir.P2PCommunication:
		if !r.holds(s.Buffer) {
			return nil, nil
		}
		p, err := r.pair(s)
		if err == nil && !s.Locality.Includes(r.machine.sameNode(r.number, p.peer())) {
			if !r.grouping {
				r.skip(s.Handle, s)
			}
			return nil, nil
		}
		return []*part{p}, err
	default:
		return nil, r.fail(s, "this is no communication")
	}
}

func (r *rank) collective(s *hostir.Communication) (*part, error) {
	p := &part{rank: r, stmt: s, root: -1, team: s.Team(r.number)}
	p.key = fmt.Sprint(p.team)
	in, err := r.view(s, s.In)
	if err != nil {
		return nil, err
	}
	p.in = []*view{in}
	if p.out, err = r.view(s, s.Out); err != nil {
		return nil, err
	}
	if p.touches = r.touches(s, p.in, p.out); s.Root == nil {
		return p, nil
	}
	p.root, err = r.EvalIn(s, s.Root)
	return p, err
}

// sendRecv returns this rank's part as a sender and its part as a receiver, if it has them. A rank at the same position
// in both meshes sends to itself.
func (r *rank) sendRecv(s *hostir.Communication) ([]*part, error) {
	in, err := r.view(s, s.In)
	if err != nil {
		return nil, err
	}
	out, err := r.view(s, s.Out)
	if err != nil {
		return nil, err
	}
	from, to := slices.Index(s.In.Mesh.Ranks, r.number), slices.Index(s.Out.Mesh.Ranks, r.number)
	if from >= 0 && from == to {
		self := &part{
			rank: r, stmt: s, root: -1, in: []*view{in}, out: out, team: []int{r.number}, key: fmt.Sprint(r.number),
			touches: r.touches(s, []*view{in}, out),
		}
		return []*part{self}, nil
	}
	var parts []*part
	add := func(v *view, from, to int, touches []touch) {
		parts = append(parts, &part{rank: r, stmt: s, root: -1, in: []*view{v}, team: []int{from, to}, key: pairKey(from, to), touches: touches})
	}
	if from >= 0 {
		add(in, r.number, s.Out.Mesh.Ranks[from], r.touches(s, []*view{in}))
	}
	if to >= 0 {
		add(out, s.In.Mesh.Ranks[to], r.number, r.touches(s, nil, out))
	}
	return parts, nil
}

func (r *rank) pair(s *hostir.P2PCommunication) (*part, error) {
	peer, err := r.EvalIn(s, s.Peer)
	if err != nil {
		return nil, err
	}
	if int(peer) == r.number {
		return nil, r.fail(s, "a rank cannot exchange with itself")
	}
	buffer, err := r.view(s, s.Buffer)
	if err != nil {
		return nil, err
	}
	p := &part{rank: r, stmt: s, in: []*view{buffer}, root: -1, team: []int{r.number, int(peer)}, touches: r.touches(s, []*view{buffer})}
	if !s.Send {
		slices.Reverse(p.team)
		p.touches[0].writes = true
	}
	p.key = pairKey(p.team[0], p.team[1])
	return p, nil
}

// carrier returns the stream that runs the communications of a part's team. All sends and receives share one stream.
func (r *rank) carrier(p *part) *tasks.Stream {
	switch s := p.stmt.(type) {
	case *hostir.P2PCommunication:
		return r.stream("communication of pairs")
	case *hostir.Communication:
		if s.Type == collective.SendRecv {
			return r.stream("communication of pairs")
		}
	}
	return r.stream("communication of " + p.key)
}

// start issues the parts of a communication or group: one task that begins it, one
// meeting for each part, one task that ends it.
func (r *rank) start(handle string, s hostir.Stmt, parts []*part) error {
	if len(parts) == 0 {
		return nil
	}
	carrier := r.carrier(parts[0])
	begin := r.issue(carrier, s, nil, r.current.Last())
	var meetings []*tasks.Task
	for _, p := range parts {
		m := r.join(p, carrier)
		m.task.Follow(begin)
		meetings = append(meetings, m.task)
	}
	r.started.Note(r.Issue, handle, r.issue(carrier, s, nil, meetings...))
	return nil
}
