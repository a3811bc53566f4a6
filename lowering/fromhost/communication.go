package fromhost

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A transfer is a communication, or a group of communications, on its team's stream or on the copy stream. If this
// stream is not the current one, it first waits for an event of the current stream. Another event marks the end of the
// transfer. For the owner's side of a transfer through shared memory, only loops, guard and owned are set.
type transfer struct {
	team  string
	done  string // the set of events that mark its end; indexed by the iteration
	on    calls.Stream
	loops []loop
	guard string    // the Guard for the ranks that run it; empty: all
	owned *exchange // the exchange of the owner's side of a transfer through shared memory; otherwise nil
}

// begin makes the stream on wait for the current stream. It returns a transfer on that stream, and the statements of
// the wait.
func (b *builder) begin(info calls.Info, team, handle string, on calls.Stream) (*transfer, []calls.Stmt) {
	ready := calls.Event{Set: b.events("before_"+b.eventsOf(handle), b.iterations(), info.Label), Index: b.at(b.loops)}
	why := "hand-over: " + handle + whyBegin
	if info.Why != "" {
		why = info.Why + "; " + why
	}
	return b.ongoing(info, team, handle, on), calls.Order(because(info, why), ready, b.current, on)
}

// whyBegin is the reason for which a transfer waits for the stream that issues it.
const whyBegin = " starts after earlier work of the issuing stream: its operand is there, and its result may be written"

// at returns the row-major number of the current iteration of some loops.
func (b *builder) at(loops []loop) expr.Expr { return b.spelled(iteration(loops)) }

// eventsOf returns the base of the names of a transfer's events: "send_P".
func (b *builder) eventsOf(handle string) string {
	return strings.TrimPrefix(b.waits[handle].constant, "wait_")
}

// ongoing returns a transfer on a stream, and declares the events for its end.
func (b *builder) ongoing(info calls.Info, team, handle string, on calls.Stream) *transfer {
	return &transfer{
		team: team, on: on, loops: slices.Clone(b.loops), guard: b.guard,
		done: b.events("after_"+b.eventsOf(handle), b.iterations(), info.Label),
	}
}

// end returns the record of the event that marks the end of a transfer, and registers the transfer under its handle.
func (b *builder) end(info calls.Info, t *transfer, handle string) calls.Stmt {
	b.handles[handle] = t
	return &calls.EventRecord{Info: info, Event: calls.Event{Set: t.done, Index: b.at(b.loops)}, On: t.on}
}

// communication lowers a collective.
func (b *builder) communication(s *hostir.Communication) ([]calls.Stmt, error) {
	if !s.Backend.Carries(s.Type) {
		return nil, notCarried(s.Pos, s.Backend)
	}
	buffers, err := b.denseBuffers(s, "a communication", s.Out, s.In)
	if err != nil {
		return nil, err
	}
	out, in := buffers[0], buffers[1]
	does, waits := b.collectiveWording(s)
	b.waits[s.Handle] = waits
	call, err := b.collective(s, in, out)
	if err != nil {
		return nil, err
	}
	call.Info, call.Team = b.says(s, does), b.teamOf(s)
	b.account(s, in, out)
	return b.carry(s, s.Handle, call)
}

// carry issues a call of NCCL or UCC on the stream of its team, or adds it to the open group.
func (b *builder) carry(s hostir.Stmt, handle string, call *calls.NcclCall) ([]calls.Stmt, error) {
	call.On = calls.Stream{Name: call.Team, Team: true}
	if b.group != nil {
		call.Grouped = true
		return []calls.Stmt{call}, b.sameTeam(s.Meta().Pos, call.Team)
	}
	t, handOver := b.begin(call.Info, call.Team, handle, call.On)
	return append(handOver, call, b.end(call.Info, t, handle)), nil
}

// collective returns the NCCL call of one collective, without Info and Team.
func (b *builder) collective(s *hostir.Communication, in, out *buffer) (*calls.NcclCall, error) {
	form := s.Type.Row()
	count := in.elements() // elements of the slice that a call counts: see collective.Form.Slices
	switch {
	case form.Exchanges():
		count = extents.Divided(count, b.ranksOf(s))
	case form.FromRoot || form.Splits:
		count = out.elements()
	}
	call := &calls.NcclCall{Kind: form.Call, In: b.pointer(in), Out: b.pointer(out), Type: in.typ, Count: count.Expr}
	if s.Type == collective.SendRecv {
		call.From, call.To = b.meshes[s.In.Mesh], b.meshes[s.Out.Mesh]
	}
	if form.Rooted() {
		if s.Root == nil {
			return nil, internalError(s, "there is no root")
		}
		call.Root = b.index(s.Root)
		call.InPlace = s.Type == collective.Broadcast && !covers(s.Out.Mesh, s.Mesh)
		call.Writable = !in.input
	}
	if form.Reduces {
		if call.Fn = s.ReduceFn; domain.FoldOf(s.ReduceFn).NCCL == "" {
			return nil, errorAt(s.Pos, "NCCL cannot reduce by %q", s.ReduceFn)
		}
	}
	return call, nil
}

// ranksOf returns the number of ranks in each team of a communication.
func (b *builder) ranksOf(s *hostir.Communication) extents.Quantity {
	if axis := s.Mesh.Axis(s.MeshAxis); axis != nil {
		return b.scope.Extent(axis.Extent)
	}
	return extents.Number(int64(s.Mesh.Size()))
}

// pointToPoint lowers a send or a receive.
func (b *builder) pointToPoint(s *hostir.P2PCommunication) ([]calls.Stmt, error) {
	if s.Backend.IPC() {
		return b.sharedTransfer(s)
	}
	if !s.Backend.Row().Pairs {
		return nil, notCarried(s.Pos, s.Backend)
	}
	buffers, err := b.denseBuffers(s, "a communication", s.Buffer)
	if err != nil {
		return nil, err
	}
	buf := buffers[0]
	b.accountTransfer(s, buf)
	does, waits := b.transferWording(s, buf.root)
	b.waits[s.Handle] = waits
	call := &calls.NcclCall{
		Info: b.says(s, does), Kind: "recv", Team: b.world(s.Pos),
		Count: buf.elements().Expr, Type: buf.typ, Peer: b.spelled(b.peerOf(s).rank),
	}
	if s.Send {
		call.Kind, call.In = "send", b.pointer(buf)
	} else {
		call.Out = b.pointer(buf)
	}
	return b.carry(s, s.Handle, call)
}

// wait makes the current stream wait for a transfer.
func (b *builder) wait(s *hostir.Wait) ([]calls.Stmt, error) {
	if s.Iteration != nil {
		return b.waitForEarlier(s)
	}
	list, err := b.waitFor(s)
	return b.onlyWithPeers(s.Handle, nil, list), err
}

// waitFor makes the current stream wait for a transfer. The iteration is the one that b.loops select.
func (b *builder) waitFor(s *hostir.Wait) ([]calls.Stmt, error) {
	t, ok := b.handles[s.Handle]
	if !ok {
		return nil, internalError(s, "nothing is named %s", s.Handle)
	}
	if len(b.loops) < len(t.loops) {
		return nil, internalError(s, "%s runs in a loop that the wait is not in", s.Handle)
	}
	on := b.current
	info := b.says(s, b.waits[s.Handle])
	if t.owned != nil {
		return b.awaitDone(info, s.Handle, t, on), nil
	}
	return []calls.Stmt{&calls.StreamWait{Info: info, Event: calls.Event{Set: t.done, Index: b.spelled(b.sameIteration(t.loops))}, On: on}},
		nil
}

// notCarried returns the error for a communication that the emitted program cannot do with a transport.
func notCarried(pos diag.Pos, backend hostir.Backend) error {
	var list diag.List
	d := list.Add(pos, diag.NotLowerable, "no program can be emitted for the transport %q here", backend)
	d.Hint = "choose via: nccl"
	return list.Err()
}

// covers reports whether the mesh outer contains every rank of the mesh inner.
func covers(outer, inner *domain.Mesh) bool {
	return !slices.ContainsFunc(inner.Ranks, func(r int) bool { return !slices.Contains(outer.Ranks, r) })
}
