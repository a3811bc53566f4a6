package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// joinCapture makes the caller's stream wait for the copy stream at the end of a captured call (a CUDA graph), if no
// other wait certainly does on all ranks. For example, the last work of the copy stream may be a write of flags, for
// which no stream of this rank waits. A capture fails if a stream is not joined.
func joinCapture(p *calls.Program) {
	if !p.Graph {
		return
	}
	o := order.New(p)
	left := calls.AsksForNodes(p.Body) && calls.UsesStream(p.Body, calls.Stream{Name: calls.Copies}) // only some ranks may use the copy stream
	o.Finish = func(o *order.Ordering) {
		n, ok := o.Streams[calls.Copies]
		caller := o.CallersClock()
		left = left || ok && !caller.Covers(o.Clocks[n])
	}
	for _, o.Spread = range []order.Spread{order.OneNode, order.ManyNodes} {
		o.RunAll()
	}
	if !left {
		return
	}
	var info calls.Info
	for s := range calls.All(p.Body) {
		if calls.UsesStream([]calls.Stmt{s}, calls.Stream{Name: calls.Copies}) && s.Meta().Label != "" {
			info = calls.Info{Pos: s.Meta().Pos, Label: s.Meta().Label}
		}
	}
	info.Why = "a capture ends with an error where a stream is not joined"
	event := calls.Event{Set: "copy_joined_", Index: expr.Int(0)}
	p.Events = append(p.Events, &calls.Events{Name: event.Set, Label: "copy_joined", Count: expr.Int(1), Where: info.Label})
	join := calls.Order(info, event, calls.Stream{Name: calls.Copies}, calls.Stream{Name: calls.Caller})
	join[0].Meta().Note = "a graph joins all of its streams"
	p.Body = append(p.Body, join...)
}
