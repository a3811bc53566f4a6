package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// For transfers through shared memory, stream memory operations or kernels write the flags, and copy engines or SMs
// copy. In a CUDA graph, kernels handle all flags, because a replay needs the current sequence number, which they read
// from device memory.

// joins returns how the flag operations of a communication are issued if the schedule batches them; empty if it does
// not batch them.
func (b *builder) joins(of string) string {
	switch {
	case b.program.Choices.Of(of, schedule.Signals) != schedule.Batched:
		return ""
	case isGraph(b.program) || b.kernelsCopy(of):
		return calls.ByKernel
	default:
		return calls.ByDriver
	}
}

// awaitDone makes a stream wait for the done flag of a transfer. Without a CUDA graph, it then records an event for the
// watchdog.
func (b *builder) awaitDone(info calls.Info, handle string, t *transfer, on calls.Stream) []calls.Stmt {
	e := t.owned
	flag := calls.Flag{Share: e.share.Name, Done: true, Transfer: b.transfer(e)}
	wait := &calls.FlagWait{Info: info, Flag: flag, On: on, Kernel: isGraph(b.program), Joins: b.joins(e.of)}
	return append([]calls.Stmt{wait}, b.returned(b.waits[handle].constant, info, on)...)
}

// returned records an event for the watchdog after an owner's wait or a peer-read sum. In a graph there is no such
// record, because the watchdog cannot query events of a graph.
func (b *builder) returned(label string, info calls.Info, on calls.Stream) []calls.Stmt {
	if isGraph(b.program) {
		return nil
	}
	event := calls.Event{Set: b.events(label, b.iterations(), info.Label), Index: b.at(b.loops)}
	return []calls.Stmt{&calls.EventRecord{Info: info, Event: event, On: on, Watch: true}}
}

// onCopyStream starts a transfer on the copy stream. If that is not the current stream, the copy stream first waits for
// the current stream.
func (b *builder) onCopyStream(info calls.Info, handle string) (*transfer, []calls.Stmt) {
	copies := calls.Stream{Name: calls.Copies}
	if b.current == copies {
		return b.ongoing(info, "", handle, copies), nil
	}
	return b.begin(info, "", handle, copies)
}

// copyNow lowers a transfer on the copier's side to calls on the copy stream.
func (b *builder) copyNow(info calls.Info, s *hostir.P2PCommunication, e *exchange, peer expr.Expr, out, in calls.Pointer,
	elements expr.Expr) []calls.Stmt {
	share, transfer := e.share.Name, b.transfer(e)
	t, list := b.onCopyStream(info, s.Handle)
	if b.kernelsCopy(s.Of) {
		bySM := &calls.Transfer{
			Info: because(info, whyReady), Out: out, In: in, Elements: elements, Type: e.typ, Share: share, Peer: peer, Transfer: transfer, On: t.on,
		}
		if b.program.Choices.Of(s.Of, schedule.Copy) == schedule.Fused {
			bySM.Joins = calls.ByKernel
		}
		return append(list, bySM, b.end(info, t, s.Handle))
	}
	kernel, name := isGraph(b.program), e.share.Tensor
	wait := b.says(s, wording{"wait_ready_" + name, "wait for the ready flag of " + name, info.Part})
	tell := b.says(s, wording{"done_" + name, "set the done flag of " + name + " at the peer", info.Part})
	return append(list,
		&calls.FlagWait{Info: because(wait, whyReady), Flag: calls.Flag{Share: share, Transfer: transfer}, On: t.on, Kernel: kernel},
		&calls.Memcpy{Info: info, Out: out, In: in, Elements: elements, Type: e.typ, On: t.on},
		&calls.FlagWrite{Info: tell, Flag: calls.Flag{Share: share, Done: true, Transfer: transfer}, Peer: peer, On: t.on, Kernel: kernel},
		b.end(info, t, s.Handle))
}

// whyReady is the reason for which a copy or a peer-read sum waits for a flag.
const whyReady = "ready flag: the peer's buffer has the data of this call, or may be written, only from then on"

// because returns an Info with a reason.
func because(info calls.Info, why string) calls.Info {
	info.Why = why
	return info
}

// transfer returns the number of the current iteration's transfer within its share.
func (b *builder) transfer(e *exchange) expr.Expr {
	return plus(e.first, extents.Quantity{Expr: b.spelled(b.sameIteration(e.loops)), Size: 1}).Expr
}

// plus returns the sum of a and c, or c alone if a is the literal 0.
func plus(a, c extents.Quantity) extents.Quantity {
	if a.Expr == expr.Int(0) {
		return c
	}
	return extents.Quantity{Expr: expr.Fold(&expr.Binary{Op: "+", X: a.Expr, Y: c.Expr}), Size: a.Size + c.Size}
}
