package emit

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A transfer is a communication, or a group of them, that runs on its team's stream:
// an event hands over from the current stream, another one tells that it is done.
type transfer struct {
	team  string
	done  string // member; indexed by the iteration
	on    string // C++ of the stream
	loops []loop
	guard string    // of the ranks that run it; empty for all
	owned *exchange // of a transfer through shared memory, on the side that owns the buffer
}

// begin hands over from the current stream to the team's: the events and their nodes.
func (b *builder) begin(src source, team, handle, on string) (*transfer, node) {
	ready := b.events(handle+"_ready", b.iterations(), src.Where) + "[" + iteration(b.loops).String() + "]"
	return b.ongoing(src, team, handle, on), &orderNode{src, ready, "stream", on}
}

// ongoing is a transfer on a stream, with the events that tell that it is done.
func (b *builder) ongoing(src source, team, handle, on string) *transfer {
	return &transfer{
		team: team, on: on, loops: slices.Clone(b.loops), guard: b.guard,
		done: b.events(handle+"_done", b.iterations(), src.Where),
	}
}

// end records that the transfer is done.
func (b *builder) end(src source, t *transfer, handle string) node {
	b.handles[handle] = t
	event := t.done + "[" + iteration(b.loops).String() + "]"
	return &recordNode{source{Where: src.Where}, event, t.on}
}

// communication prints a collective.
func (b *builder) communication(s *hostir.Communication) ([]node, error) {
	if s.Backend != hostir.NCCL {
		return nil, notCarried(s.Pos, s.Backend)
	}
	buffers, err := b.operandBuffers(s, s.Out, s.In)
	if err != nil {
		return nil, err
	}
	out, in := buffers[0], buffers[1]
	for _, u := range buffers {
		if !u.contiguous() {
			return nil, b.notContiguous(s, u.tensor, "a communication")
		}
	}
	src := b.located(s, s.Handle, s.Handle+": "+string(s.Type)+" of "+s.In.Name)
	team := b.teamOf(s)
	call, err := b.collective(s, in, out)
	if err != nil {
		return nil, err
	}
	call.source, call.Team = source{Where: src.Where}, team
	b.account(s, in, out)
	if b.group != nil {
		call.source, call.Grouped = src, true
		return []node{call}, b.sameTeam(s.Pos, team)
	}
	t, handOver := b.begin(src, team, s.Handle, team+".stream")
	return []node{handOver, call, b.end(src, t, s.Handle)}, nil
}

// collectives gives, for each type, its template and whose elements its call counts.
var collectives = map[hostir.CommType]struct {
	kind              string
	rooted, reduces   bool
	countsOut, shared bool // shared: the operand is split over the team's ranks
}{
	hostir.Allgather:     {kind: "allgather"},
	hostir.Allreduce:     {kind: "allreduce", reduces: true},
	hostir.ReduceScatter: {kind: "reduce_scatter", reduces: true, countsOut: true},
	hostir.Reduction:     {kind: "reduce_to_root", rooted: true, reduces: true},
	hostir.BroadcastComm: {kind: "broadcast", rooted: true, countsOut: true},
	hostir.Gather:        {kind: "gather", rooted: true},
	hostir.Scatter:       {kind: "scatter", rooted: true, countsOut: true},
	hostir.AllToAll:      {kind: "all_to_all", shared: true},
	hostir.SendRecv:      {kind: "send_recv"},
}

// collective fills the call of one communication.
func (b *builder) collective(s *hostir.Communication, in, out *buffer) (*collectiveNode, error) {
	form, ok := collectives[s.Type]
	if !ok {
		return nil, internalError(s.Pos, s.Op(), "unknown type %q", s.Type)
	}
	ranks := number(int64(s.Mesh.Size()))
	if axis := s.Mesh.Axis(s.MeshAxis); axis != nil {
		ranks = b.scope.extent(axis.Extent)
	}
	count := in.elements()
	if form.countsOut {
		count = out.elements()
	}
	if form.shared {
		count = divided(count, ranks)
	}
	call := &collectiveNode{
		Kind: form.kind, In: in.name, Out: out.name, Type: in.typ.NCCL, Count: count.String(),
		PeerOffset: b.offset(expr.Var("int64_t{peer}"), count),
	}
	if s.Type == hostir.SendRecv {
		call.From, call.To = b.meshes[s.In.Mesh], b.meshes[s.Out.Mesh]
	}
	if form.rooted {
		if s.Root == nil {
			return nil, internalError(s.Pos, s.Op(), "there is no root")
		}
		call.Root, call.InPlace = b.rank(b.scope.rename(fold(s.Root))), inPlace(s, in)
	}
	if form.reduces {
		if call.Fn, ok = ncclFns[s.ReduceFn]; !ok {
			return nil, errorAt(s.Pos, "NCCL cannot reduce by %q", s.ReduceFn)
		}
	}
	return call, nil
}

// inPlace names the operand of a broadcast whose root has no result, to receive in: NCCL writes
// there what is there. It is empty for other communications.
func inPlace(s *hostir.Communication, in *buffer) string {
	switch {
	case s.Type != hostir.BroadcastComm || covers(s.Out.Mesh, s.Mesh):
		return ""
	case in.input:
		return "const_cast<" + in.typ.Alias + "*>(" + in.name + ")"
	default:
		return in.name
	}
}

// rank prints an expression of C++ names as the int that NCCL takes.
func (b *builder) rank(e expr.Expr) string {
	if isLiteral(e) {
		return e.String()
	}
	return "static_cast<int>(" + b.spell(e) + ")"
}

// pointToPoint prints a send or a receive.
func (b *builder) pointToPoint(s *hostir.P2PCommunication) ([]node, error) {
	if s.Backend.IPC() {
		return b.sharedTransfer(s)
	}
	if s.Backend != hostir.NCCL {
		return nil, notCarried(s.Pos, s.Backend)
	}
	buf, err := b.operandBuffer(s, s.Buffer)
	if err != nil {
		return nil, err
	}
	if !buf.contiguous() {
		return nil, b.notContiguous(s, s.Buffer, "a communication")
	}
	kind, verb := "recv", "receive of "
	if s.Send {
		kind, verb = "send", "send of "
	}
	src := b.located(s, s.Handle, s.Handle+": "+verb+s.Buffer.Name)
	b.accountTransfer(s, buf)
	team := b.world(s.Pos)
	call := &collectiveNode{
		source: source{Where: src.Where}, Kind: kind, Team: team, In: buf.name, Out: buf.name,
		Count: buf.elements().String(), Type: buf.typ.NCCL, Peer: b.rank(b.peerOf(s).rank),
	}
	if b.group != nil {
		call.source, call.Grouped = src, true
		return []node{call}, b.sameTeam(s.Pos, team)
	}
	t, handOver := b.begin(src, team, s.Handle, team+".stream")
	return []node{handOver, call, b.end(src, t, s.Handle)}, nil
}

// wait makes the current stream wait for a transfer.
func (b *builder) wait(s *hostir.Wait) ([]node, error) {
	if s.Iteration != nil {
		return b.waitForEarlier(s)
	}
	nodes, err := b.waitFor(s)
	return b.reached(s.Handle, nil, nodes), err
}

// waitFor makes the current stream wait for a transfer of the iteration at hand.
func (b *builder) waitFor(s *hostir.Wait) ([]node, error) {
	t, ok := b.handles[s.Handle]
	if !ok {
		return nil, internalError(s.Pos, s.Op(), "nothing is named %s", s.Handle)
	}
	if len(b.loops) < len(t.loops) {
		return nil, internalError(s.Pos, s.Op(), "%s runs in a loop that the wait is not in", s.Handle)
	}
	src := b.located(s, "wait_"+s.Handle, "Wait("+s.Handle+")")
	if t.owned != nil {
		return b.awaitTransfer(src, s.Handle, t), nil
	}
	event := t.done + "[" + b.sameIteration(t.loops).String() + "]"
	return []node{&waitNode{src, event, "stream"}}, nil
}

// notCarried is the error for transports without templates.
func notCarried(pos diag.Pos, backend hostir.Backend) error {
	var list diag.List
	d := list.Add(pos, diag.NotLowerable, "no program can be emitted for the transport %q here", backend)
	d.Hint = "choose via: nccl"
	return list.Err()
}
