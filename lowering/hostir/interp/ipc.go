package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// ipcTransfer is one transfer over CUDA IPC. The owner of a buffer sets its ready flag; the copier waits for the flag, copies
// and sets the done flag. Each flag is an edge of the task graph in one direction, so the ranks do not have to meet.
type ipcTransfer struct {
	owner, copier *part
	puts          bool          // the copier is the sender
	ready, done   *tasks.Task   // the tasks that set the flags
	needReady     []*tasks.Task // tasks that wait for the ready flag
	needDone      []*tasks.Task // tasks that wait for the done flag
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
	sameNode := r.machine.sameNode(r.number, p.peer())
	switch {
	case !s.Locality.Includes(sameNode):
		r.skip(s.Handle, s)
		return nil
	case !sameNode:
		return r.fail(s, "rank %d is on another node", p.peer())
	case !exchange.Shared.Joins(r.number, p.peer()):
		return r.fail(s, "no memory is shared with rank %d", p.peer())
	}
	switch {
	case s.Owns():
		r.setReady(s, p, r.ipcTransfer(exchange, r.number, p.peer()))
	case r.peerParts != nil:
		r.accessPeer(p, r.ipcTransfer(exchange, p.peer(), r.number))
	default:
		r.copy(s, p, r.ipcTransfer(exchange, p.peer(), r.number))
	}
	return nil
}

// skip records that a transfer or a group does not take place in this iteration, so there is nothing to wait for.
func (r *rank) skip(handle string, s hostir.Stmt) {
	r.started.Note(r.Issue, handle, r.machine.tasks.Add(r.number, s, r.current, nil))
}

// sameNode reports whether two ranks can share memory.
func (m *machine) sameNode(rank, other int) bool {
	ranks := m.program.Meshes[0].Ranks
	return len(m.nodes) == 0 || m.nodes[slices.Index(ranks, rank)] == m.nodes[slices.Index(ranks, other)]
}

// ipcTransfer returns the transfer between two ranks through one exchange in this iteration, and makes it if necessary.
func (r *rank) ipcTransfer(e *hostir.Exchange, owner, copier int) *ipcTransfer {
	key := fmt.Sprint(e.Send.Handle, e.Recv.Handle, r.Key(r.Loops), r.calls, owner, copier)
	m := r.machine
	if m.transfers[key] == nil {
		m.transfers[key] = &ipcTransfer{puts: e.Copier().Send}
		m.transferOrder = append(m.transferOrder, m.transfers[key])
	}
	return m.transfers[key]
}

// setReady issues the task that sets the ready flag, which allows the peer to access the buffer. A Wait for s waits for
// the done flag.
func (r *rank) setReady(s *hostir.P2PCommunication, p *part, l *ipcTransfer) {
	l.owner, l.ready = p, r.issue(r.current, s, nil)
	back := r.machine.tasks.Add(r.number, s, r.current, nil)
	l.needDone = append(l.needDone, back)
	r.started.Note(r.Issue, s.Handle, back)
}

// copy issues the task that moves the data, on the copy stream, after the ready flag is set.
func (r *rank) copy(s *hostir.P2PCommunication, p *part, l *ipcTransfer) {
	l.copier = p
	l.done = r.issue(r.stream(hostir.CopyStream), s, l.move, r.current.Last())
	l.needReady = append(l.needReady, l.done)
	r.started.Note(r.Issue, s.Handle, l.done)
}

func (l *ipcTransfer) move() error {
	if l.puts {
		return pass(l.copier, l.owner)
	}
	return pass(l.owner, l.copier)
}

// peer returns the other rank of a pair.
func (p *part) peer() int {
	if p.team[0] == p.rank.number {
		return p.team[1]
	}
	return p.team[0]
}

// matchFlags connects each wait with the task that sets its flag. A wait for a flag that no rank sets never ends.
func (m *machine) matchFlags() error {
	for _, l := range m.transferOrder {
		if l.owner != nil && l.copier != nil && !compatible(l.owner, l.copier) {
			return fmt.Errorf("ranks %d and %d exchange buffers that differ: %s (%s) and %s (%s)",
				l.owner.rank.number, l.copier.rank.number, text.Statement(l.owner.stmt), where(l.owner.stmt.Meta().Pos),
				text.Statement(l.copier.stmt), where(l.copier.stmt.Meta().Pos))
		}
		makeWait(l.needReady, l.ready)
		makeWait(l.needDone, l.done)
	}
	return nil
}

func makeWait(waits []*tasks.Task, set *tasks.Task) {
	for _, t := range waits {
		if set == nil {
			t.Block()
			continue
		}
		t.Follow(set)
	}
}

// unanswered describes the first transfer with only one side; nil if there is none.
func (m *machine) unanswered() []string {
	var lines []string
	for _, l := range m.transferOrder {
		have, lacks := l.owner, "copies"
		if have == nil {
			have, lacks = l.copier, "sets its ready flag"
		}
		if l.owner == nil || l.copier == nil {
			lines = append(lines, fmt.Sprintf("%s of rank %d has no counterpart: rank %d never %s in that iteration",
				text.Statement(have.stmt), have.rank.number, have.peer(), lacks))
		}
	}
	return lines[:min(len(lines), 1)] // the first one is the cause
}
