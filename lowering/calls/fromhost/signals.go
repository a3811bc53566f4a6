package fromhost

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/extents"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// How transfers through shared memory are spelled: their flags as stream memory operations or by
// kernels, one by one or in a batch; their copies by a copy engine or by SMs. A CUDA graph takes
// kernels for all flags, since they read the number of the call.

// A signalGroup is the open batch of flag operations or copies.
type signalGroup struct {
	kind    hostir.SignalKind
	name    string   // of the variable that gathers the parts
	handles []string // of its copies
}

// byKernel reports whether a single flag is a kernel's work.
func (b *builder) byKernel() bool { return b.signals == nil && isGraph(b.program) }

// part is the stream that a flag operation names, and the batch: one of them is empty.
func (b *builder) part(on calls.Stream) (calls.Stream, string) {
	if b.signals != nil {
		return calls.Stream{}, b.signals.name
	}
	return on, ""
}

// awaitDone makes a stream wait for the copier of a transfer. The event tells the watchdog that the
// wait is over.
func (b *builder) awaitDone(info calls.Info, handle string, t *transfer, on calls.Stream) []calls.Stmt {
	e := t.lent
	stream, batch := b.part(on)
	list := []calls.Stmt{&calls.FlagWait{Info: info, Flag: calls.Flag{Share: e.share.Name, Done: true, Transfer: b.transfer(e)}, On: stream, Batch: batch, Kernel: b.byKernel()}}
	if b.signals == nil {
		list = append(list, b.returned("wait_"+handle, info, on)...)
	}
	return list
}

// returned records that a wait of an owner is over; in a graph nobody could ask.
func (b *builder) returned(label string, info calls.Info, on calls.Stream) []calls.Stmt {
	if isGraph(b.program) {
		return nil
	}
	event := calls.Event{Set: b.events(label, b.iterations(), info.Label), Index: b.at(b.loops)}
	return []calls.Stmt{&calls.EventRecord{Info: info, Event: event, On: on, Watch: true}}
}

// onCopyStream is a transfer on the copy stream: handed over to it, unless it is the current
// one.
func (b *builder) onCopyStream(info calls.Info, handle string) (*transfer, []calls.Stmt) {
	copies := calls.Stream{Name: calls.Copies}
	if b.current == copies {
		return b.ongoing(info, "", handle, copies), nil
	}
	return b.begin(info, "", handle, copies)
}

// copyNow lowers a transfer on the copier's side, by itself or as part of the open batch.
func (b *builder) copyNow(info calls.Info, s *hostir.P2PCommunication, e *exchange, peer expr.Expr, out, in calls.Pointer, elements expr.Expr) []calls.Stmt {
	share, transfer := e.share.Name, b.transfer(e)
	bySM := &calls.Transfer{Info: info, Out: out, In: in, Elements: elements, Type: e.typ, Share: share, Peer: peer, Transfer: transfer}
	if b.signals != nil {
		bySM.Batch = b.signals.name
		b.signals.handles = append(b.signals.handles, s.Handle)
		return []calls.Stmt{bySM}
	}
	t, list := b.onCopyStream(info, s.Handle)
	if b.kernelsCopy(s.Of) {
		bySM.On = t.on
		return append(list, bySM, b.end(info, t, s.Handle))
	}
	kernel := b.byKernel()
	return append(list,
		&calls.FlagWait{Info: info, Flag: calls.Flag{Share: share, Done: false, Transfer: transfer}, On: t.on, Kernel: kernel},
		&calls.Memcpy{Info: info, Out: out, In: in, Elements: elements, Type: e.typ, On: t.on},
		&calls.FlagWrite{Info: info, Flag: calls.Flag{Share: share, Done: true, Transfer: transfer}, Peer: peer, On: t.on, Kernel: kernel},
		b.end(info, t, s.Handle))
}

// batch lowers flag operations, or copies, that are issued as one.
func (b *builder) batch(members []hostir.Stmt, kind hostir.SignalKind, end *hostir.EndCoalescing, on calls.Stream) ([]calls.Stmt, error) {
	info := b.info(end, end.Handle, end.Handle+": group")
	g := &signalGroup{kind: kind, name: b.names.Local(end.Handle)}
	b.signals = g
	body, err := b.items(members)
	b.signals = nil
	if err != nil {
		return nil, err
	}
	list, body := withoutNames(body)
	batch := &calls.MemOpBatch{
		Info: info, Name: g.name, Kernel: b.kernelsSignal(members), On: on, Body: body,
		Use: map[hostir.SignalKind]string{hostir.Lends: "write", hostir.Returns: "wait", hostir.Copies: "copy"}[kind],
	}
	switch kind {
	case hostir.Copies:
		t, handOver := b.onCopyStream(info, end.Handle)
		batch.On = t.on
		list = append(append(list, handOver...), batch, b.end(info, t, end.Handle))
		for _, handle := range g.handles {
			b.handles[handle] = t
		}
		return list, nil
	case hostir.Returns:
		return append(append(list, batch), b.returned(end.Handle, info, on)...), nil
	default:
		return append(list, batch), nil
	}
}

// transfer numbers the transfer of the iteration at hand among those of its buffer.
func (b *builder) transfer(e *exchange) expr.Expr {
	return plus(e.first, extents.Quantity{Expr: b.spelled(b.sameIteration(e.loops)), Size: 1}).Expr
}

// plus adds quantities; zero is left out.
func plus(a, c extents.Quantity) extents.Quantity {
	if a.Expr == expr.Int(0) {
		return c
	}
	return extents.Quantity{Expr: expr.Fold(&expr.Binary{Op: "+", X: a.Expr, Y: c.Expr}), Size: a.Size + c.Size}
}
