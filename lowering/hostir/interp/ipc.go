package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/tasks"
)

// loan is one transfer over CUDA IPC: the owner of a buffer lends it, the copier copies.
// The two signals between them are edges of the task graph, in one direction each; there
// is no point at which both ranks have to be.
type loan struct {
	owner, copier *part
	puts          bool          // the copier is the sender
	lent, copied  *tasks.Task   // the signals
	needLent      []*tasks.Task // tasks that wait for the owner's signal
	needCopied    []*tasks.Task // tasks that wait for the copier's signal
}

// ipc issues one side of a transfer over CUDA IPC.
func (r *rank) ipc(s *hostir.P2PCommunication) error {
	exchange := r.machine.exchanges[s.Handle]
	if exchange == nil {
		return r.fail(s, "no ShareMemHandles pairs it with its counterpart")
	}
	if !r.holds(s.Buffer) {
		return nil
	}
	p, err := r.pair(s)
	if err != nil {
		return err
	}
	sameHost := r.machine.sameHost(r.number, p.peer())
	switch {
	case !s.Reach.Joins(sameHost):
		r.skip(s.Handle, s)
		return nil
	case !sameHost:
		return r.fail(s, "rank %d is on another host", p.peer())
	case !exchange.Shared.Joins(r.number, p.peer()):
		return r.fail(s, "no memory is shared with rank %d", p.peer())
	}
	switch {
	case s.Owns():
		r.lend(s, p, r.loan(exchange, r.number, p.peer()))
	case r.borrows != nil:
		r.borrow(p, r.loan(exchange, p.peer(), r.number))
	default:
		r.copy(s, p, r.loan(exchange, p.peer(), r.number))
	}
	return nil
}

// skip notes that there is nothing to wait for in this iteration.
func (r *rank) skip(handle string, s hostir.Stmt) {
	r.handle(handle, r.machine.tasks.Add(r.number, s, r.current, nil))
}

// sameHost reports whether two ranks can share memory.
func (m *machine) sameHost(rank, other int) bool {
	ranks := m.program.Meshes[0].Ranks
	return len(m.hosts) == 0 || m.hosts[slices.Index(ranks, rank)] == m.hosts[slices.Index(ranks, other)]
}

// loan finds the transfer between two ranks through one exchange in this iteration.
func (r *rank) loan(e *hostir.Exchange, owner, copier int) *loan {
	key := fmt.Sprint(e.Send.Handle, e.Recv.Handle, r.iteration(r.loops), r.calls, owner, copier)
	m := r.machine
	if m.loans[key] == nil {
		m.loans[key] = &loan{puts: e.Copier().Send}
		m.lendings = append(m.lendings, m.loans[key])
	}
	return m.loans[key]
}

// lend signals that the buffer may be used. What Wait waits for is the copier's signal.
func (r *rank) lend(s *hostir.P2PCommunication, p *part, l *loan) {
	l.owner, l.lent = p, r.issue(r.current, s, nil)
	back := r.machine.tasks.Add(r.number, s, r.current, nil)
	l.needCopied = append(l.needCopied, back)
	r.handle(s.Handle, back)
}

// copy moves the data once the buffer is lent, on the stream of all copies.
func (r *rank) copy(s *hostir.P2PCommunication, p *part, l *loan) {
	l.copier = p
	l.copied = r.issue(r.stream(hostir.CopyStream), s, l.move, r.current.Last())
	l.needLent = append(l.needLent, l.copied)
	r.handle(s.Handle, l.copied)
}

func (l *loan) move() error {
	if l.puts {
		return pass(l.copier, l.owner)
	}
	return pass(l.owner, l.copier)
}

// peer is the other rank of a pair.
func (p *part) peer() int {
	if p.team[0] == p.rank.number {
		return p.team[1]
	}
	return p.team[0]
}

// matchLoans ties each wait to the signal that it is for. A wait for a signal that no rank
// gives never ends.
func (m *machine) matchLoans() error {
	for _, l := range m.lendings {
		if l.owner != nil && l.copier != nil && !compatible(l.owner, l.copier) {
			return fmt.Errorf("ranks %d and %d exchange buffers that differ: %s (%s) and %s (%s)",
				l.owner.rank.number, l.copier.rank.number, text.Statement(l.owner.stmt), where(l.owner.stmt.Meta().Pos),
				text.Statement(l.copier.stmt), where(l.copier.stmt.Meta().Pos))
		}
		tie(l.needLent, l.lent)
		tie(l.needCopied, l.copied)
	}
	return nil
}

func tie(waits []*tasks.Task, signal *tasks.Task) {
	for _, t := range waits {
		if signal == nil {
			t.Block()
			continue
		}
		t.Follow(signal)
	}
}

// unanswered says which transfers lack a side.
func (m *machine) unanswered() []string {
	var lines []string
	for _, l := range m.lendings {
		have, lacks := l.owner, "copies"
		if have == nil {
			have, lacks = l.copier, "lends its buffer"
		}
		if l.owner == nil || l.copier == nil {
			lines = append(lines, fmt.Sprintf("%s of rank %d has no counterpart: rank %d never %s in that iteration",
				text.Statement(have.stmt), have.rank.number, have.peer(), lacks))
		}
	}
	return lines[:min(len(lines), 1)] // the first one is the cause
}
