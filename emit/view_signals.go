package emit

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// How transfers through shared memory are spelled: their flags by stream memory operations or by
// kernels, one by one or in a group; their copies by a copy engine or by kernels. A CUDA graph takes
// kernels for all flags, since they read the sequence number from device memory.

type (
	// flagNode writes a flag of a peer, or waits for one of this rank's; Form says which, and
	// how.
	flagNode struct {
		source
		Form, Driver, Flag, Shared string
		Group                      string // of which it is a part; empty for none
	}
	// copyBetweenNode waits for the owner's ready flag, copies, and sets the done flag.
	copyBetweenNode struct {
		source
		Form, Driver, Shared, Peer, Transfer string
		Stream, Out, In, Elements, Type      string
		Group                                string // of which it is a part; empty for none
	}
	// flagGroupNode declares what gathers the parts of a group.
	flagGroupNode struct {
		source
		Class, Name, Args string
	}
	// submitNode issues a group, as one operation.
	submitNode struct {
		source
		Name, Stream string
	}
)

func (n *flagNode) template() string        { return n.Form }
func (n *copyBetweenNode) template() string { return n.Form }
func (*flagGroupNode) template() string     { return "stmt/flag_group" }
func (*submitNode) template() string        { return "stmt/flag_submit" }

// A flagGroup is the open group of flags or copies.
type flagGroup struct {
	kind    hostir.SignalKind
	name    string   // of the variable that gathers the parts
	label   string   // of the group in the host IR
	handles []string // of its copies
	guard   string   // of the ranks that run it; empty for all
	src     source
}

// driver is the member with the stream memory operations.
func (b *builder) driver() string {
	b.peers()
	if b.view.Driver == "" {
		b.view.Driver = b.names.member("driver")
	}
	return b.view.Driver
}

// flag prints a flag that is written, or waited for, by itself or as part of the open group.
func (b *builder) flag(src source, form, share, flag string) node {
	n := &flagNode{source: src, Form: form, Flag: flag, Shared: share}
	switch {
	case b.signals != nil:
		n.Form, n.Group = "stmt/flag_add", b.signals.name
	case b.graph():
		n.Form += "_kernel"
	default:
		n.Driver = b.driver()
	}
	return n
}

// awaitTransfer makes the current stream wait for the done flag of a transfer. The event tells the
// watchdog that the wait is over.
func (b *builder) awaitTransfer(src source, handle string, t *transfer) []node {
	e := t.owned
	flag := fmt.Sprintf("%s.done(%s)", e.share.Name, b.transfer(e))
	nodes := []node{b.flag(src, "stmt/wait_flag", e.share.Name, flag)}
	if b.signals == nil {
		nodes = append(nodes, b.waitedForDone("wait_"+handle, src)...)
	}
	return nodes
}

// waitedForDone records that an owner's wait for done flags is over; in a graph nobody could ask.
func (b *builder) waitedForDone(label string, src source) []node {
	if b.graph() {
		return nil
	}
	event := fmt.Sprintf("%s[%s]", b.events(label, b.iterations(), src.Where), iteration(b.loops))
	return []node{&recordNode{source{Where: src.Where}, event, "stream"}}
}

// copyNow prints a transfer on the side that copies, by itself or as part of the open group.
func (b *builder) copyNow(src source, s *hostir.P2PCommunication, call *copyBetweenNode) []node {
	if b.signals != nil {
		call.source, call.Form, call.Group = src, "stmt/copy_add", b.signals.name
		b.signals.handles = append(b.signals.handles, s.Handle)
		return []node{call}
	}
	switch {
	case b.kernelsCopy(s.Of):
		call.Form = "stmt/copy_between_kernel"
	case b.graph():
		call.Form = "stmt/copy_between_graph"
	default:
		call.Form, call.Driver = "stmt/copy_between", b.driver()
	}
	t, nodes := b.onCopyStream(src, s.Handle)
	call.source, call.Stream = source{Where: src.Where}, t.on
	if nodes == nil {
		call.source = src // nothing stands before it
	}
	return append(nodes, call, b.end(src, t, s.Handle))
}

// onCopyStream is a transfer on the copy stream: handed over to it, unless it is the current
// one.
func (b *builder) onCopyStream(src source, handle string) (*transfer, []node) {
	copies := b.peers() + ".copies()"
	if b.current.text == copies {
		return b.ongoing(src, "", handle, "stream"), nil
	}
	t, handOver := b.begin(src, "", handle, copies)
	return t, []node{handOver}
}

// startSignals opens a group of flags or copies.
func (b *builder) startSignals(s *hostir.StartCoalescing, kind hostir.SignalKind, members []hostir.Stmt, end *hostir.EndCoalescing) []node {
	b.peers()
	g := &flagGroup{kind: kind, name: b.names.local(end.Handle), label: end.Handle, guard: b.guard}
	g.src = b.located(end, end.Handle, end.Handle+": group")
	b.signals = g
	n := &flagGroupNode{source: b.source(s), Name: g.name}
	use := map[hostir.SignalKind]string{hostir.Lends: "hirgen::FlagUse::kWrite", hostir.Returns: "hirgen::FlagUse::kWait"}[kind]
	switch {
	case kind == hostir.Copies:
		n.Class = "hirgen::TransferKernel"
	case b.kernelsSignal(members):
		n.Class, n.Args = "hirgen::FlagKernel", "("+use+")"
	default:
		n.Class, n.Args = "hirgen::MemOpBatch", "("+use+", "+b.driver()+")"
	}
	return []node{n}
}

// endSignals issues the open group. Its copies end together.
func (b *builder) endSignals() []node {
	g := b.signals
	b.signals = nil
	submit := &submitNode{g.src, g.name, "stream"}
	switch g.kind {
	case hostir.Copies:
		t, nodes := b.onCopyStream(g.src, g.label)
		if submit.Stream = t.on; nodes != nil {
			submit.source = source{Where: g.src.Where}
		}
		nodes = append(nodes, submit, b.end(g.src, t, g.label))
		for _, handle := range g.handles {
			b.handles[handle] = t
		}
		return nodes
	case hostir.Returns:
		return append([]node{submit}, b.waitedForDone(g.label, g.src)...)
	default:
		return []node{submit}
	}
}

// transfer numbers the transfer of the iteration at hand among those of its buffer.
func (b *builder) transfer(e *exchange) string {
	return plus(e.first, quantity{b.sameIteration(e.loops), 1}).String()
}

// plus adds quantities; zero is left out.
func plus(a, c quantity) quantity {
	if a.expr == expr.Int(0) {
		return c
	}
	return quantity{fold(&expr.Binary{Op: "+", X: a.expr, Y: c.expr}), a.size + c.size}
}
