package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// part is one rank's part of a communication, or of a statement that several ranks run together.
type part struct {
	rank *rank
	stmt hostir.Stmt
	key  string // identifies the team; meetings with the same key take place in order
	team []int  // world ranks; sender and receiver for a point-to-point pair
	in   []*view
	out  *view
	more []*view // additional results
	root int64   // index of the root in the team; -1: no root
	// touches lists the accesses to the rank's own buffers.
	touches []touch
}

// meeting collects the parts of one communication or statement. It takes place when every member of its team has reached it.
type meeting struct {
	team  []int // world ranks; sender and receiver for a point-to-point pair
	parts []*part
	task  *tasks.Task
}

// meetingKey identifies a communication of a team by the team and a counter: the n-th communication that each rank of
// the team issues has turn n, from 0.
type meetingKey struct {
	team string
	turn int
}

// pairKey returns the team of the meetings in which one rank sends to another.
func pairKey(from, to int) string { return fmt.Sprintf("%d to %d", from, to) }

// join adds a part to its meeting. The first part makes the meeting.
func (r *rank) join(p *part, on *tasks.Stream) *meeting {
	id := meetingKey{p.key, r.turns[p.key]}
	r.turns[p.key]++
	m := r.machine.meetings[id]
	if m == nil {
		m = &meeting{team: p.team}
		m.task = r.machine.tasks.Add(-1, p.stmt, on, m.exchange)
		r.machine.notes[m.task] = &note{call: r.calls}
		r.machine.meetings[id] = m
		r.machine.order = append(r.machine.order, m)
	}
	m.parts = append(m.parts, p)
	return m
}

// matchMeetings checks that the ranks of each meeting issue the same communication. It blocks the task of a meeting that a rank
// never reaches.
func (m *machine) matchMeetings() error {
	for _, meeting := range m.order {
		if err := meeting.match(); err != nil {
			return err
		}
		if len(meeting.parts) < len(meeting.team) {
			meeting.task.Block()
		}
	}
	return nil
}

// missing lists the ranks that never reach the meeting.
func (m *meeting) missing() []int {
	var ranks []int
	for _, r := range m.team {
		if !slices.ContainsFunc(m.parts, func(p *part) bool { return p.rank.number == r }) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

func (m *meeting) match() error {
	first := m.parts[0]
	for _, p := range m.parts[1:] {
		if !compatible(first, p) {
			return fmt.Errorf("ranks %d and %d meet in different communications: %s (%s) and %s (%s)",
				first.rank.number, p.rank.number, text.Statement(first.stmt), where(first.stmt.Meta().Pos),
				text.Statement(p.stmt), where(p.stmt.Meta().Pos))
		}
	}
	return nil
}

func compatible(a, b *part) bool {
	switch s := a.stmt.(type) {
	case *hostir.Communication:
		o, ok := b.stmt.(*hostir.Communication)
		return ok && s.Type == o.Type && s.ReduceFn == o.ReduceFn && a.root == b.root &&
			hostir.LocalElements(s.In) == hostir.LocalElements(o.In) && s.In.DType == o.In.DType
	case *hostir.P2PCommunication:
		o, ok := b.stmt.(*hostir.P2PCommunication)
		return ok && s.Send != o.Send && a.in[0].Elements() == b.in[0].Elements() && s.Buffer.DType == o.Buffer.DType
	default:
		return a.stmt == b.stmt
	}
}
