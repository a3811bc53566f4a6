package calls

// shareRecords lets waits take an event that was recorded earlier where a later record says the same:
// the stream was given no work, and waited for nothing, in between. One record then serves all.
//
//	EventRecord(started_[0], on caller)        EventRecord(started_[0], on caller)
//	StreamWait(started_[0], on compute[s])     StreamWait(started_[0], on compute[s])
//	EventRecord(ready_[s], on compute[s])  ->
//	StreamWait(ready_[s], on x_.stream)        StreamWait(started_[0], on x_.stream)
//
// A wait that a loop needs in its first iteration alone then stands before the loop.
func shareRecords(p *Program) {
	o := newOrdering(p)
	o.runAll()
	instead, uses := map[string]Event{}, countUses(p.Body)
	Walk(p.Body, func(s Stmt) bool {
		r, ok := s.(*EventRecord)
		if ok && o.alike[r] != nil && !r.Watch && uses.records[r.Event.Set] == 1 {
			instead[r.Event.Set] = o.alike[r].Event
		}
		return true
	})
	Walk(p.Body, func(s Stmt) bool {
		if w, ok := s.(*StreamWait); ok {
			if e, ok := instead[w.Event.Set]; ok {
				w.Event = e
			}
		}
		return true
	})
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		if r, ok := s.(*EventRecord); ok && instead[r.Event.Set].Set != "" {
			return nil
		}
		return []Stmt{s}
	})
}
