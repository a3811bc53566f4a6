package cost

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

type (
	// transferKey identifies one transfer between memories that ranks share.
	transferKey struct {
		exchange      *hostir.Exchange
		iteration     string
		owner, copier int32
	}
	// flags are the two flags of a transfer, as joints. The task that sets a flag has an edge to its joint.
	flags struct{ ready, done int32 }
)

// shared issues one side of a transfer over CUDA IPC.
func (r *rank) shared(s *hostir.P2PCommunication) error {
	exchange := r.exchanges[s.Handle]
	if exchange == nil {
		return r.fail(s, "no ShareMemHandles pairs it with its counterpart")
	}
	to, err := r.EvalIn(s, s.Peer)
	if err != nil {
		return err
	}
	peer, ok := r.numbers[int(to)]
	if !ok {
		return r.fail(s, "there is no rank %d", to)
	}
	together := r.machine.together(r.place, peer)
	switch {
	case !s.Locality.Includes(together):
		return nil
	case !together:
		return &ReachError{s.Pos, nameOf(s)}
	}
	switch {
	case s.Owns():
		r.markReady(s, r.flags(exchange, r.place, peer))
	case r.sum != nil:
		r.addRemote(s, r.flags(exchange, peer, r.place))
	default:
		r.copy(s, r.flags(exchange, peer, r.place), peer)
	}
	return nil
}

// flags returns the flags of an exchange's transfer in this iteration.
func (r *rank) flags(e *hostir.Exchange, owner, copier int32) *flags {
	key := transferKey{e, r.Key(r.Loops), owner, copier}
	if at := r.joint(key); r.classes != nil {
		key = transferKey{exchange: e, owner: r.classes.group(at), copier: -1}
		owner = r.classes.like(owner)
	}
	l := r.transfers[key]
	if l == nil {
		flag := task{work: work{kind: joint}, stream: -1, ranks: r.alone(owner), before: 1}
		flag.stmt = e.Owner()
		l = &flags{ready: r.add(flag)}
		flag.stmt = e.Copier()
		l.done = r.add(flag)
		r.transfers[key] = l
	}
	return l
}

// markReady sets the ready flag for the peer. A Wait for this side waits for the peer's done flag.
func (r *rank) markReady(s *hostir.P2PCommunication, l *flags) {
	r.started.Note(r.Issue, s.Handle, l.done)
	r.leads(r.flag(s, work{kind: FlagWrite}, s.Of), l.ready)
}

// flag issues a flag operation to the current stream. If the schedule batches flags (signals: batched), it
// joins the batch of the operations directly before it.
func (r *rank) flag(s hostir.Stmt, w work, of string) int32 {
	if r.joins(w.kind, of, schedule.Signals, schedule.Batched, r.current) {
		w = r.last.work
		w.fixed += r.machine.Device.FlagBatch
		return r.extend(w, 0)
	}
	w.fixed, w.host = r.machine.Device.Flag, w.host+r.machine.Host.Flag
	t := r.issue(r.current, s, w)
	r.last = batch{open: true, task: t, work: w}
	return t
}

// joins reports whether a call merges with the one before it. Both must have the same kind and stream, and
// the schedule of the communication must merge them.
func (r *rank) joins(kind Kind, of, field, value string, on int32) bool {
	return r.last.open && r.last.work.kind == kind && r.streams[on].last == r.last.task && r.program.Choices.Of(of, field) == value
}

// extend adds a call to the open batch.
func (r *rank) extend(w work, bytes int64) int32 {
	r.last.work, r.last.bytes = w, r.last.bytes+bytes
	if captured(r.program) {
		w = r.machine.inGraph(w)
	}
	r.tasks[r.last.task].work = w
	return r.last.task
}

// copy waits for the ready flag, copies, and sets the done flag, on the copy stream.
func (r *rank) copy(s *hostir.P2PCommunication, l *flags, peer int32) {
	m, on := r.machine, r.named(hostir.CopyStream)
	byKernel := m.copyKernel(s.Backend, r.last.bytes+bytesOf(s.Buffer))
	if r.joins(byKernel.kind, s.Of, schedule.Copy, schedule.Fused, on) { // it is a part of one kernel
		t := r.extend(byKernel, bytesOf(s.Buffer))
		r.follow(t, l.ready)
		r.ends(t, peer, s.Handle, l.done)
		r.tasks[t].ranks = r.self()
		return
	}
	before := r.handOver(s, on)
	if copiedByKernel(r.program, s) { // one kernel
		t := r.issue(on, s, m.copyKernel(s.Backend, bytesOf(s.Buffer)), before, l.ready)
		r.last = batch{true, t, r.tasks[t].work, bytesOf(s.Buffer)}
		r.ends(t, peer, s.Handle, l.done)
		return
	}
	r.issue(on, s, work{kind: FlagWait, fixed: m.Device.Flag, host: m.Host.Flag}, before, l.ready)
	t := r.issue(on, s, m.copyEngine(s.Backend, bytesOf(s.Buffer)))
	r.ends(t, peer, s.Handle)
	flag := r.issue(on, s, work{kind: FlagWrite, fixed: m.Device.Flag, host: m.Host.Flag + m.Host.Event})
	r.leads(flag, l.done)
	r.started.Note(r.Issue, s.Handle, flag)
}

// handOver issues a wait by an event to another stream, so that it follows the current stream. It returns
// that wait, or -1 if on is the current stream.
func (r *rank) handOver(s hostir.Stmt, on int32) int32 {
	last := r.streams[r.current].last
	if on != r.current {
		return r.issue(on, s, work{fixed: r.machine.Device.Event, host: 2 * r.machine.Host.Event}, last)
	}
	return -1
}

// ends records the two ranks of a copy, and the joints that its end signals.
func (r *rank) ends(t, peer int32, handle string, signals ...int32) {
	if r.classes != nil {
		peer = r.classes.like(peer)
	}
	r.tasks[t].ranks = []int32{r.place, peer}
	r.started.Note(r.Issue, handle, t)
	for _, joint := range signals {
		r.leads(t, joint)
	}
}

// peerReadSum issues a peer-read reduction: one kernel that waits for the ready flags of its peers, reads
// their memory, adds, and may store there.
func (r *rank) peerReadSum(s *hostir.PeerReadSum) error {
	if !r.holds(s.Out) {
		return nil
	}
	w := r.machine.bytesWork(float64(bytesOf(s.In) + bytesOf(s.Out)))
	r.sum, r.reads, r.writes = &w, nil, nil
	err := r.List(s.Body)
	r.sum = nil
	if err != nil {
		return err
	}
	t := r.issue(r.current, s, r.machine.overLinks(w), r.reads...)
	for _, joint := range r.writes {
		r.leads(t, joint)
	}
	return nil
}

// addRemote records that the current sum reads or writes the memory of a peer. in and out are bytes until
// overLinks converts them to shares.
func (r *rank) addRemote(s *hostir.P2PCommunication, l *flags) {
	r.reads, r.writes = append(r.reads, l.ready), append(r.writes, l.done)
	if s.Backend == hostir.IPCPut {
		r.sum.out += float64(bytesOf(s.Buffer))
		return
	}
	r.sum.in += float64(bytesOf(s.Buffer))
}

// complete reports a communication that only some of its ranks reach, and a flag that no rank sets.
func (u *unrolling) complete() error {
	for _, m := range u.meetings {
		if m.arrived < m.of {
			return fmt.Errorf("%s: %d of %d ranks reach %s", m.stmt.Meta().Pos, m.arrived, m.of, nameOf(m.stmt))
		}
	}
	signalled := make([]bool, len(u.tasks))
	for _, e := range u.edges {
		signalled[e.to] = true
	}
	for key, l := range u.transfers {
		if i := slices.IndexFunc([]int32{l.ready, l.done}, func(t int32) bool { return !signalled[t] }); i >= 0 {
			return fmt.Errorf("%s: no rank does what %s waits for", key.exchange.Shared.Pos, nameOf(key.exchange.Send))
		}
	}
	return nil
}
