package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// share is a Share under construction, with the number of transfers that statements so far make on it.
type share struct {
	*calls.Share
	transfers extents.Quantity
}

// shareKey identifies a buffer and the ranks that share it.
type shareKey struct {
	memory string
	mesh   *domain.Mesh
	axis   string
}

// An exchange is a send and its receive through shared memory, after the translation of the owner's side. The owner is
// the rank whose buffer the peer accesses.
type exchange struct {
	share *share
	of    string           // the name of its communication in the schedule
	first extents.Quantity // number of transfers on the buffer by earlier statements
	loops []loop           // the loops around the owner's statement
	at    expr.Expr        // start of the owner's view in its buffer, in elements; nil: 0
	typ   domain.DType
}

// sharedTransfer lowers one side of a transfer through shared memory.
func (b *builder) sharedTransfer(s *hostir.P2PCommunication) ([]calls.Stmt, error) {
	pair := b.pairs[s.Handle]
	if pair == nil {
		return nil, internalError(s, "no ShareMemHandles pairs %s with its counterpart", s.Handle)
	}
	buffers, err := b.denseBuffers(s, "a transfer", s.Buffer)
	if err != nil {
		return nil, err
	}
	buf := buffers[0]
	if !buf.known && s.Owns() {
		return nil, internalError(s, "which memory %s is in depends on the path taken", s.Buffer.Name)
	}
	b.accountTransfer(s, buf)
	does, waits := b.transferWording(s, buf.root)
	b.waits[s.Handle] = waits
	if s.Owns() {
		return b.ready(s, b.says(s, does), buf, pair), nil
	}
	return b.copyBetween(s, b.says(s, does), buf, pair), nil
}

// ready lowers the owner's side to a write of the ready flag. It records where the owner's view is, for the copier's
// side.
func (b *builder) ready(s *hostir.P2PCommunication, info calls.Info, buf *buffer, pair *hostir.Exchange) []calls.Stmt {
	share := b.share(s, buf, pair.Shared)
	e := &exchange{share: share, of: pair.Send.Of, first: share.transfers, loops: slices.Clone(b.loops), at: buf.at, typ: buf.typ}
	share.transfers = plus(share.transfers, b.iterations())
	b.exchanges[pair] = e
	b.handles[s.Handle] = &transfer{loops: slices.Clone(b.loops), owned: e, guard: b.guard}
	return []calls.Stmt{&calls.FlagWrite{
		Info: info, Flag: calls.Flag{Share: share.Name, Done: false, Transfer: b.transfer(e)}, Peer: b.spelled(b.peerOf(s).rank), On: b.current,
		Kernel: isGraph(b.program), Joins: b.joins(e.of),
	}}
}

// copyBetween lowers the copier's side to a copy or, in a peer-read sum, to a PeerPart.
func (b *builder) copyBetween(s *hostir.P2PCommunication, info calls.Info, buf *buffer, pair *hostir.Exchange) []calls.Stmt {
	e := b.exchanges[pair]
	if e == nil {
		refuse(internalError(s, "%s copies before its counterpart is ready", s.Handle))
	}
	at := b.peerOf(s)
	peer := b.spelled(at.rank)
	theirs := calls.Pointer{Base: e.share.Name, Peer: peer}
	if e.at != nil {
		theirs.Offset = b.spelled(b.seenFrom(at, e.at))
	}
	elements := buf.elements().Expr
	if b.sum != "" {
		return []calls.Stmt{&calls.PeerPart{
			Info: info, Sum: b.sum, Store: s.Send, At: theirs, Elements: elements, Share: e.share.Name, Peer: peer, Transfer: b.transfer(e),
		}}
	}
	out, in := b.pointer(buf), theirs
	if s.Send {
		out, in = theirs, b.pointer(buf)
	}
	return b.copyNow(info, s, e, peer, out, in, elements)
}

// share returns the share of a buffer among some ranks. It declares the share on first use.
func (b *builder) share(s *hostir.P2PCommunication, buf *buffer, by *hostir.ShareMemHandles) *share {
	root, key := buf.root, shareKey{buf.base, by.Mesh, by.MeshAxis}
	if known := b.shares[key]; known != nil {
		return known
	}
	whole := b.newBuffer(root, buf.base)
	d := &share{transfers: extents.Number(0), Share: &calls.Share{
		Name: b.names.Local(root.Name + "_ipc"), Shape: b.names.Constant(root.Name + "_shared"),
		Memory: buf.base, Tensor: root.Name, Elements: extents.Times(b.copiesOf(root), whole.elements()).Expr, Type: root.DType,
	}}
	words := "sharing " + root.Name + " with the other ranks"
	if by.Mesh != nil {
		d.Mesh, d.Axis = b.meshes[by.Mesh], int64(axisIndex(by.Mesh, by.MeshAxis))
		words += " along " + by.MeshAxis
	}
	pos := s.Pos
	if root.Role != hostir.Temp {
		pos = root.Pos // the position of the caller's tensor, whose memory may be unfit for sharing
	}
	d.Label = b.label("share_"+root.Name, calls.At(pos, words))
	b.shares[key], b.out.Shares = d, append(b.out.Shares, d.Share)
	return d
}

// copiesOf returns the number of consecutive buffers that a tensor has: one per iteration if a loop allocates it.
func (b *builder) copiesOf(root *hostir.Tensor) extents.Quantity {
	if copies, ok := b.copies[root]; ok {
		return copies
	}
	return extents.Number(1)
}

// finishShares sets the number of transfers of each share.
func (b *builder) finishShares() {
	for _, d := range b.shares {
		d.Transfers = d.transfers.Expr
	}
}

// beginCalls returns a BeginCall for each share.
func (b *builder) beginCalls() []calls.Stmt {
	var list []calls.Stmt
	for _, d := range b.out.Shares {
		list = append(list, &calls.BeginCall{Share: d.Name})
	}
	return list
}
