package emit

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// sharing is what the emitted program shares with other ranks through CUDA IPC.
type sharing struct {
	Peers  string // member: the other ranks' memory; empty when nothing is shared
	Driver string // member: the driver's stream memory operations; empty where none is used
	Shares []*shareView
}

// shareView is a buffer that other ranks read or write.
type shareView struct {
	Name     string // local variable: the buffer and flags of every rank, in this call
	Constant string // its SharedShape
	Memory   string // C++ of this rank's pointer
	Own      bool   // the program's: shared when it is made
	Index    int    // of the caller's tensor, if it is not
	Tensor   string
	Bytes    string
	Where    string
	Mesh     string // constant: the ranks that share it are those along Axis; empty for all ranks
	Axis     int
	Along    string // Axis in words

	transfers quantity
}

// shareKey names a buffer, by the C++ pointer to it, and the ranks that share it.
type shareKey struct {
	memory string
	mesh   *domain.Mesh
	axis   string
}

// Transfers is the number of transfers of a call.
func (s *shareView) Transfers() string { return s.transfers.String() }

// Constructs reports whether the program's constructor does anything.
func (v *programView) Constructs() bool {
	return v.Workers > 0 || slices.ContainsFunc(v.Shares, func(s *shareView) bool { return s.Own })
}

// SharedByTeams lists what is shared, by constants, where a part of the ranks share some of it.
func (v *programView) SharedByTeams() []string {
	var constants []string
	for _, s := range v.Shares {
		constants = append(constants, s.Constant)
	}
	if !slices.ContainsFunc(v.Shares, func(s *shareView) bool { return s.Mesh != "" }) {
		return nil
	}
	return constants
}

// An exchange is a send and a receive, the owner's side of which was printed.
type exchange struct {
	share *shareView
	first quantity  // transfers of other statements on the buffer
	loops []loop    // that the owner's side stands in
	at    expr.Expr // where the owner's view starts in its buffer; nil at the start
	typ   cppType
}

type (
	// mappedNode stands for ShareMemHandles.
	mappedNode struct {
		source
		Peers string
	}
	// beginCallNode names the memory that ranks share in this call; Form tells a call that is
	// captured as a CUDA graph from others.
	beginCallNode struct {
		Form, Peers string
		*shareView
	}
)

func (*mappedNode) template() string      { return "stmt/share_mem_handles" }
func (n *beginCallNode) template() string { return n.Form }

// shareMemHandles prints nothing but what it stands for: memory is mapped before.
func (b *builder) shareMemHandles(s *hostir.ShareMemHandles) ([]node, error) {
	return []node{&mappedNode{b.source(s), b.peers()}}, nil
}

// peers declares the other ranks' memory, once.
func (b *builder) peers() string {
	if b.view.Peers == "" {
		b.view.Peers = b.names.member("peers")
	}
	return b.view.Peers
}

// sharedTransfer prints one side of a transfer through shared memory.
func (b *builder) sharedTransfer(s *hostir.P2PCommunication) ([]node, error) {
	pair := b.pairs[s.Handle]
	if pair == nil {
		return nil, internalError(s.Pos, s.Op(), "no ShareMemHandles pairs %s with its counterpart", s.Handle)
	}
	buf, err := b.operandBuffer(s, s.Buffer)
	if err != nil {
		return nil, err
	}
	if !buf.contiguous() {
		return nil, b.notContiguous(s, s.Buffer, "a transfer")
	}
	if buf.memory == "" && s.Owns() {
		return nil, internalError(s.Pos, s.Op(), "which memory %s is in depends on the path taken", s.Buffer.Name)
	}
	verb := "receive of "
	if s.Send {
		verb = "send of "
	}
	b.accountTransfer(s, buf)
	what := s.Buffer.Name
	if buf.name == "" {
		what = buf.root.Name // of which the program names no part
	}
	src := b.located(s, s.Handle, s.Handle+": "+verb+what)
	if s.Owns() {
		return b.writeReady(s, src, buf, pair), nil
	}
	return b.copyBetween(s, src, buf, pair)
}

// writeReady prints the owner's side, and notes where its buffer is for the side that copies.
func (b *builder) writeReady(s *hostir.P2PCommunication, src source, buf *buffer, pair *hostir.Exchange) []node {
	share := b.share(s, buf, pair.Shared)
	e := &exchange{share: share, first: share.transfers, loops: slices.Clone(b.loops), at: buf.at, typ: buf.typ}
	share.transfers = plus(share.transfers, b.iterations())
	b.exchanges[pair] = e
	b.handles[s.Handle] = &transfer{loops: append([]loop(nil), b.loops...), owned: e, guard: b.guard}
	flag := fmt.Sprintf("%s.ready_at(%s, %s)", share.Name, b.spell(b.peerOf(s).rank), b.transfer(e))
	if buf.name == "" {
		shown := *s
		shown.Buffer = &hostir.Tensor{Name: b.address(buf)}
		src.Text = text.Statement(&shown)
	}
	return []node{b.flag(src, "stmt/write_flag", share.Name, flag)}
}

// address tells in a comment where a view begins that has no name.
func (b *builder) address(buf *buffer) string {
	if buf.at == nil {
		return buf.memory
	}
	return buf.memory + " + " + shortened(b.withUsedNames(buf.at)).String()
}

// copyBetween prints the side that copies.
func (b *builder) copyBetween(s *hostir.P2PCommunication, src source, buf *buffer, pair *hostir.Exchange) ([]node, error) {
	e := b.exchanges[pair]
	if e == nil {
		return nil, internalError(s.Pos, s.Op(), "%s copies before its counterpart sets the ready flag", s.Handle)
	}
	at := b.peerOf(s)
	peer := b.spell(at.rank)
	theirs := fmt.Sprintf("%s.of<%s>(%s)", e.share.Name, e.typ.Alias, peer)
	var named []node
	if e.at != nil {
		there := &viewNode{
			Declares: true, Const: !s.Send, Type: e.typ.Alias, Name: b.names.local(e.share.Tensor + "_there"), Base: theirs,
			Offset: b.spell(b.seenFrom(at, e.at)),
		}
		named, theirs = []node{there}, there.Name
	}
	if b.reduction != "" {
		member := "add"
		if s.Send {
			member = "store"
		}
		return append(named, &operandNode{
			src, b.reduction, member, e.share.Name, peer, b.transfer(e), theirs, buf.elements().String(),
		}), nil
	}
	out, in := buf.name, theirs
	if s.Send {
		out, in = theirs, buf.name
	}
	call := &copyBetweenNode{
		Shared: e.share.Name, Peer: peer, Transfer: b.transfer(e), Out: out, In: in, Elements: buf.elements().String(), Type: buf.typ.Alias,
	}
	return append(named, b.copyNow(src, s, call)...), nil
}

// share declares the memory behind a buffer as shared by some ranks, once.
func (b *builder) share(s *hostir.P2PCommunication, buf *buffer, by *hostir.ShareMemHandles) *shareView {
	root, key := buf.root, shareKey{buf.memory, by.Mesh, by.MeshAxis}
	if share := b.shares[key]; share != nil {
		return share
	}
	whole := b.newBuffer(root, buf.memory)
	share := &shareView{
		Name: b.names.local(root.Name + "_shared"), Constant: b.names.constant(root.Name + "_shared"),
		Memory: buf.memory, Own: root.Role == hostir.Temp, Index: b.arguments[root], Tensor: root.Name, transfers: number(0),
		Bytes: times(b.copiesOf(root), whole.elements()).String() + " * sizeof(" + buf.typ.Alias + ")",
	}
	words := "sharing " + root.Name + " with the other ranks"
	if by.Mesh != nil {
		share.Mesh, share.Axis, share.Along = b.meshes[by.Mesh], axisIndex(by.Mesh, by.MeshAxis), "the ranks along "+by.MeshAxis
		words += " along " + by.MeshAxis
	}
	pos := s.Pos
	if !share.Own {
		pos = root.Pos // whose memory may not be fit for it
	}
	share.Where = b.label("share_"+root.Name, at(pos, words))
	b.shares[key], b.view.Shares = share, append(b.view.Shares, share)
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

// beginCalls names what is shared, once the caller's pointers are known.
func (b *builder) beginCalls() []node {
	var nodes []node
	form := "stmt/begin_call"
	if b.graph() {
		form = "stmt/begin_captured"
	}
	for _, share := range b.view.Shares {
		nodes = append(nodes, &beginCallNode{form, b.view.Peers, share})
	}
	return nodes
}
