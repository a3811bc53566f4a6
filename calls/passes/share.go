package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
)

// shareRecords makes waits use an earlier record if it covers the same work of all streams as their own record, which
// is then dropped.
//
//	EventRecord(started_[0], on caller)        EventRecord(started_[0], on caller)
//	StreamWait(started_[0], on compute[s])     StreamWait(started_[0], on compute[s])
//	EventRecord(ready_[s], on compute[s])  ->
//	StreamWait(ready_[s], on x_.stream)        StreamWait(started_[0], on x_.stream)
//
// If only the first iteration of a loop then needs a wait, drop-waits moves the wait before the loop.
func shareRecords(p *calls.Program) {
	o := order.New(p)
	o.RunAll()
	instead, uses := map[string]calls.Event{}, countUses(p.Body)
	for s := range calls.All(p.Body) {
		r, ok := s.(*calls.EventRecord)
		if ok && o.Alike[r] != nil && !r.Watch && uses.records[r.Event.Set] == 1 {
			instead[r.Event.Set] = o.Alike[r].Event
		}
	}
	for w := range calls.Each[*calls.StreamWait](p.Body) {
		if e, ok := instead[w.Event.Set]; ok {
			w.Event = e
		}
	}
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		if r, ok := s.(*calls.EventRecord); ok && instead[r.Event.Set].Set != "" {
			return nil
		}
		return []calls.Stmt{s}
	})
}
