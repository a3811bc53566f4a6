package emit

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// sharing is what the emitted program shares with other ranks through CUDA IPC.
type sharing struct {
	Peers  string // member: the other ranks' memory; empty when nothing is shared
	Driver string // member: the driver's stream memory operations
	Shares []*shareView
}

// shareView is a buffer that other ranks read or write.
type shareView struct {
	Name     string // local variable: the buffer and words of every rank, in this call
	Constant string // its SharedShape
	Memory   string // C++ of this rank's pointer
	Own      bool   // the program's: shared when it is made
	Tensor   string
	Bytes    string
	Where    string

	transfers quantity
}

// Transfers is the number of transfers of a call.
func (s *shareView) Transfers() string { return s.transfers.String() }

// An exchange is a send and a receive, the owner's side of which was printed.
type exchange struct {
	share *shareView
	first quantity  // transfers of other statements on the buffer
	at    expr.Expr // where the owner's view starts in its buffer; nil at the start
	typ   cppType
}

type (
	// lendNode signals that the peer may use this rank's buffer.
	lendNode struct {
		source
		Driver, Shared, Peer, Transfer string
	}
	// copyBetweenNode waits for the owner's signal, copies, and signals back.
	copyBetweenNode struct {
		source
		Driver, Shared, Peer, Transfer string
		Stream, Out, In, Elements      string
		Type                           string
	}
	// awaitCopyNode makes the current stream wait for the copier's signal.
	awaitCopyNode struct {
		source
		Driver, Shared, Transfer string
	}
	// mappedNode stands for ShareMemHandles.
	mappedNode struct {
		source
		Peers string
	}
	// beginCallNode names the memory that ranks share in this call.
	beginCallNode struct {
		Peers string
		*shareView
	}
)

func (*lendNode) template() string        { return "stmt/lend" }
func (*copyBetweenNode) template() string { return "stmt/copy_between" }
func (*awaitCopyNode) template() string   { return "stmt/await_copy" }
func (*mappedNode) template() string      { return "stmt/share_mem_handles" }
func (*beginCallNode) template() string   { return "stmt/begin_call" }

// shareMemHandles prints nothing but what it stands for: memory is mapped before.
func (b *builder) shareMemHandles(s *hostir.ShareMemHandles) ([]node, error) {
	if b.program.Choices.Graph {
		var list diag.List
		list.Add(s.Pos, diag.NotLowerable, "a CUDA graph cannot hold transfers through shared memory: it would repeat the numbers of one call").
			WithHint("write `graph: false` or `transport: nccl` in the schedule")
		return nil, list.Err()
	}
	return []node{&mappedNode{b.source(s), b.peers()}}, nil
}

// peers declares the other ranks' memory, once.
func (b *builder) peers() string {
	if b.view.Peers == "" {
		b.view.Peers, b.view.Driver = b.names.member("peers"), b.names.member("driver")
	}
	return b.view.Peers
}

// sharedTransfer prints one side of a transfer through shared memory.
func (b *builder) sharedTransfer(s *hostir.P2PCommunication) ([]node, error) {
	pair := b.pairs[s.Handle]
	if pair == nil {
		return nil, internalError(s.Pos, s.Op(), "no ShareMemHandles pairs %s with its counterpart", s.Handle)
	}
	if !b.everywhere(s.Buffer) {
		return nil, b.sharedBySome(s)
	}
	buf, err := b.operandBuffer(s, s.Buffer)
	if err != nil {
		return nil, err
	}
	if !buf.contiguous() {
		return nil, notContiguous(s.Pos, s.Buffer, "a transfer")
	}
	if buf.memory == "" && s.Owns() {
		return nil, internalError(s.Pos, s.Op(), "which memory %s is in depends on the path taken", s.Buffer.Name)
	}
	verb := "receive of "
	if s.Send {
		verb = "send of "
	}
	b.accountTransfer(s, buf)
	src := b.located(s, s.Handle, s.Handle+": "+verb+s.Buffer.Name)
	if s.Owns() {
		return b.lend(s, src, buf, pair), nil
	}
	return b.copyBetween(s, src, buf, pair)
}

// sharedBySome is the error for a buffer that some ranks have. All ranks of a program share
// memory together, whenever the caller comes with a new pointer; a rank without one would not
// know when.
func (b *builder) sharedBySome(s *hostir.P2PCommunication) error {
	var list diag.List
	list.Add(s.Pos, diag.NotLowerable, "%s is on mesh %s, and transfers through shared memory need a buffer on every rank",
		s.Buffer.Name, s.Buffer.Mesh.Name).WithHint("write `transport: nccl` in the schedule")
	return list.Err()
}

// lend prints the owner's side, and notes where its buffer is for the copier's.
func (b *builder) lend(s *hostir.P2PCommunication, src source, buf *buffer, pair *hostir.Exchange) []node {
	share := b.share(s, buf)
	e := &exchange{share: share, first: share.transfers, at: buf.at, typ: buf.typ}
	share.transfers = plus(share.transfers, b.iterations())
	b.exchanges[pair] = e
	b.handles[s.Handle] = &transfer{loops: append([]loop(nil), b.loops...), lent: e, guard: b.guard}
	return []node{&lendNode{src, b.view.Driver, share.Name, b.scope.index(s.Peer), e.transfer(b.loops)}}
}

// copyBetween prints the copier's side.
func (b *builder) copyBetween(s *hostir.P2PCommunication, src source, buf *buffer, pair *hostir.Exchange) ([]node, error) {
	e := b.exchanges[pair]
	if e == nil {
		return nil, internalError(s.Pos, s.Op(), "%s copies before its counterpart lends", s.Handle)
	}
	peer := b.scope.rename(fold(s.Peer))
	theirs := fmt.Sprintf("%s.of<%s>(%s)", e.share.Name, e.typ.Alias, peer)
	if e.at != nil {
		theirs += " + " + b.seenFrom(peer, e.at).String()
	}
	out, in := buf.name, theirs
	if s.Send {
		out, in = theirs, buf.name
	}
	call := &copyBetweenNode{
		source: source{Where: src.Where}, Driver: b.view.Driver, Shared: e.share.Name, Peer: peer.String(),
		Transfer: e.transfer(b.loops), Out: out, In: in, Elements: buf.elements().String(), Type: buf.typ.Alias,
	}
	t, nodes := b.onCopyStream(src, s.Handle, call)
	return append(nodes, b.end(src, t, s.Handle)), nil
}

// onCopyStream prints a copy: on the current stream if that is the copy stream, or handed
// over to it.
func (b *builder) onCopyStream(src source, handle string, call *copyBetweenNode) (*transfer, []node) {
	copies := b.peers() + ".copies()"
	if b.current.text != copies {
		t, handOver := b.begin(src, "", handle, copies)
		call.Stream = copies
		return t, []node{handOver, call}
	}
	call.source, call.Stream = src, "stream"
	return b.ongoing(src, "", handle, "stream"), []node{call}
}

// transfer numbers the transfer of the iteration at hand among those of its buffer.
func (e *exchange) transfer(loops []loop) string {
	return plus(e.first, quantity{iteration(loops), 1}).String()
}

// share declares the memory behind a buffer as shared, once.
func (b *builder) share(s *hostir.P2PCommunication, buf *buffer) *shareView {
	root := buf.root
	if share := b.shares[buf.memory]; share != nil {
		return share
	}
	whole := b.newBuffer(root, buf.memory)
	bytes := times(b.copiesOf(root), whole.elements()).String() + " * sizeof(" + buf.typ.Alias + ")"
	words := "sharing " + root.Name + " with the other ranks"
	share := &shareView{
		Name: b.names.local(root.Name + "_shared"), Constant: b.names.constant(root.Name + "_shared"),
		Memory: buf.memory, Own: root.Role == hostir.Temp, Tensor: root.Name, Bytes: bytes,
		Where: b.place("share_"+root.Name, at(s.Pos, words)), transfers: number(0),
	}
	b.shares[buf.memory], b.view.Shares = share, append(b.view.Shares, share)
	return share
}

// copiesOf is how many buffers of a tensor lie behind each other: one per iteration where
// a loop allocates it.
func (b *builder) copiesOf(root *hostir.Tensor) quantity {
	if copies, ok := b.copies[root]; ok {
		return copies
	}
	return number(1)
}

// awaitTransfer makes the current stream wait for the copier of what was lent.
func (b *builder) awaitTransfer(src source, t *transfer) node {
	e := t.lent
	return &awaitCopyNode{src, b.view.Driver, e.share.Name, e.transfer(b.loops[:len(t.loops)])}
}

// beginCalls names what is shared, once the caller's pointers are known.
func (b *builder) beginCalls() []node {
	var nodes []node
	for _, share := range b.view.Shares {
		nodes = append(nodes, &beginCallNode{b.view.Peers, share})
	}
	return nodes
}

// plus adds quantities; zero is left out.
func plus(a, c quantity) quantity {
	if a.expr == expr.Int(0) {
		return c
	}
	return quantity{fold(&expr.Binary{Op: "+", X: a.expr, Y: c.expr}), a.size + c.size}
}
