package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// part is the part of one rank in an NCCL call.
type part struct {
	rank    *rank
	call    *calls.NcclCall
	key     string  // of the communicator; its meetings take place in order
	team    []int64 // world ranks; sender and receiver for a pair
	in, out place
	count   int64
	root    int64
}

// meeting collects the parts of one call. It takes place when every member of its team has reached it.
type meeting struct {
	team  []int64
	parts []*part
	task  *tasks.Task
}

// nccl issues a call, or a group of them.
func (r *rank) nccl(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.NcclGroup:
		r.grouped, r.group = true, nil
		err := r.walk.List(s.Body)
		r.grouped = false
		if err != nil {
			return err
		}
		return r.start(s, s.On, r.group)
	case *calls.NcclCall:
		parts, err := r.partsOf(s)
		if err != nil {
			return err
		}
		if !r.grouped {
			return r.start(s, s.On, parts)
		}
		r.group = append(r.group, parts...)
	}
	return nil
}

// start issues parts: one task that begins them, a meeting for each, and one task that ends them.
func (r *rank) start(s calls.Stmt, stream calls.Stream, parts []*part) error {
	on, err := r.on(s, stream)
	if err != nil {
		return err
	}
	for _, p := range parts {
		r.uses(r, p.call.Team)
	}
	begin := r.issue(s, on, nil)
	var meetings []*tasks.Task
	for _, p := range parts {
		meetings = append(meetings, r.join(p, on).task)
	}
	for _, t := range meetings {
		t.Follow(begin)
	}
	r.communicates(begin, r.issue(s, on, nil, meetings...))
	return nil
}

// join adds a part to its meeting. The first part makes the meeting.
func (r *rank) join(p *part, on *tasks.Stream) *meeting {
	id := fmt.Sprint(p.key, " ", r.turns[p.key])
	r.turns[p.key]++
	m := r.machine.meetings[id]
	if m == nil {
		m = &meeting{team: p.team}
		m.task = r.machine.tasks.Add(-1, p.call, on, m.exchange)
		r.machine.meetings[id] = m
		r.machine.order = append(r.machine.order, m)
	}
	m.parts = append(m.parts, p)
	return m
}

// match checks that ranks make the same call. A meeting that a rank never reaches cannot take place.
func (m *meeting) match() error {
	first := m.parts[0]
	for _, p := range m.parts[1:] {
		kinds := p.call.Kind == first.call.Kind || len(m.team) == 2 && p.pair() && first.pair()
		if !kinds || p.count != first.count || p.call.Type != first.call.Type || p.call.Fn != first.call.Fn || p.root != first.root {
			return fmt.Errorf("ranks %d and %d meet in different calls: %s and %s",
				first.rank.number, p.rank.number, text.Statement(first.call), text.Statement(p.call))
		}
	}
	if len(m.parts) < len(m.team) {
		m.task.Block()
	}
	return nil
}

func (p *part) pair() bool { return p.call.Kind == "send" || p.call.Kind == "recv" }

// partsOf makes this rank's parts of a call.
func (r *rank) partsOf(s *calls.NcclCall) ([]*part, error) {
	p := &part{rank: r, call: s, root: -1}
	var err error
	if p.count, err = r.eval(s, s.Count); err != nil {
		return nil, err
	}
	if p.in, err = r.at(s, s.In); err != nil {
		return nil, err
	}
	if p.out, err = r.at(s, s.Out); err != nil {
		return nil, err
	}
	if s.Root != nil {
		if p.root, err = r.eval(s, s.Root); err != nil {
			return nil, err
		}
	}
	switch s.Kind {
	case "send", "recv":
		peer, err := r.eval(s, s.Peer)
		if err != nil {
			return nil, err
		}
		if peer == r.number {
			return nil, r.fail(s, "a rank cannot exchange with itself")
		}
		p.team = []int64{r.number, peer}
		if s.Kind == "recv" {
			p.team = []int64{peer, r.number}
		}
		p.key = fmt.Sprint(s.Team, " ", p.team[0], " to ", p.team[1])
		return []*part{p}, nil
	case "send_recv":
		return r.counterparts(p), nil
	}
	p.team = r.team(s.Team)
	p.key = fmt.Sprint(s.Team, " ", p.team)
	return []*part{p}, nil
}

// counterparts returns this rank's part as a sender and its part as a receiver, if it has them. A rank with the same position in
// both meshes exchanges with itself.
func (r *rank) counterparts(p *part) []*part {
	program := r.machine.program
	from, to := program.MeshNamed(p.call.From), program.MeshNamed(p.call.To)
	at, target := program.Position(from, r.number), program.Position(to, r.number)
	if at >= 0 && at == target {
		p.team, p.key = []int64{r.number}, fmt.Sprint(p.call.Team, " ", r.number)
		return []*part{p}
	}
	var parts []*part
	add := func(sender, receiver int64) {
		q := *p
		q.team, q.key = []int64{sender, receiver}, fmt.Sprint(p.call.Team, " ", sender, " to ", receiver)
		parts = append(parts, &q)
	}
	if at >= 0 {
		add(r.number, program.Members(to)[at])
	}
	if target >= 0 {
		add(program.Members(from)[target], r.number)
	}
	return parts
}

// team lists the ranks of a communicator, in order.
func (r *rank) team(name string) []int64 {
	p := r.machine.program
	for _, d := range p.Teams {
		if d.Name != name {
			continue
		}
		m := p.MeshNamed(d.Mesh)
		return slices.DeleteFunc(slices.Clone(p.Members(m)), func(other int64) bool {
			for axis := range m.Extents {
				mine, _ := p.Coordinate(m, int64(axis), r.number)
				theirs, _ := p.Coordinate(m, int64(axis), other)
				if !d.Whole && int64(axis) != d.Axis && mine != theirs {
					return true
				}
			}
			return false
		})
	}
	return nil
}

// exchange moves the data of a meeting. Every input is read before any output is written.
func (m *meeting) exchange() error {
	parts := slices.Clone(m.parts)
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Compare(slices.Index(m.team, a.rank.number), slices.Index(m.team, b.rank.number))
	})
	call, count := parts[0].call, parts[0].count
	switch call.Kind {
	case "send", "recv", "send_recv":
		return pass(parts[0], parts[len(parts)-1], count)
	}
	form := collective.Of(call.Kind).Form
	sent, received := form.Slices(int64(len(parts)))
	in := make([][]float64, len(parts))
	for q, p := range parts {
		if sends, _ := form.Sides(int64(q) == p.root); p.in.data == nil || !sends {
			continue
		}
		memory, err := p.rank.run(p.call, p.in, count*sent)
		if err != nil {
			return err
		}
		in[q] = slices.Clone(memory)
	}
	for q, p := range parts {
		isRoot := int64(q) == p.root
		if _, receives := form.Sides(isRoot); p.out.data == nil || !receives || call.InPlace && isRoot {
			continue
		}
		out, err := p.rank.run(p.call, p.out, count*received)
		if err != nil {
			return err
		}
		data, err := form.Deliver(in, count, int64(q), p.root, collective.InFP32(call.Fn, call.Type))
		if err != nil {
			return p.rank.fail(call, "%v", err)
		}
		copy(out, data)
	}
	return nil
}

// pass moves a message.
func pass(from, to *part, count int64) error {
	source, err := from.rank.run(from.call, from.in, count)
	if err != nil {
		return err
	}
	target, err := to.rank.run(to.call, to.out, count)
	copy(target, source)
	return err
}
