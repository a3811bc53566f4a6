package passes

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// recordOnce moves the record of an event out of its loop, if the program is a CUDA graph and only the event of the
// last iteration is waited for. Without a graph, the watchdog needs the events of all iterations. Before the pass:
//
//	For(var s, count D):
//	  EventRecord(event sent_, index s, last, on copy)
//	StreamWait(event sent_, index D - 1, on caller)
//
// After the pass, the record follows the loop:
//
//	EventRecord(event sent_, index 0, on copy)
//	StreamWait(event sent_, index 0, on caller)
func recordOnce(p *calls.Program) {
	if !p.Graph {
		return
	}
	events, moved, records := calls.ByName(p.Events), map[string]bool{}, map[string]int{}
	for r := range calls.Each[*calls.EventRecord](p.Body) {
		records[r.Event.Set]++
	}
	p.Body = calls.EditLists(p.Body, func(list []calls.Stmt) []calls.Stmt {
		var out []calls.Stmt
		for _, s := range list {
			out = append(out, s)
			loop, ok := s.(*calls.For)
			if !ok {
				continue
			}
			var record *calls.EventRecord
			if loop.Body, record = withoutLast(loop.Body, loop.Var, records); record != nil {
				moved[record.Event.Set] = true
				record.Last, record.Event.Index = false, expr.Int(0)
				events[record.Event.Set].Count = expr.Int(1)
				out = append(out, record)
			}
		}
		return out
	})
	for w := range calls.Each[*calls.StreamWait](p.Body) {
		if moved[w.Event.Set] {
			w.Event.Index = expr.Int(0)
			w.Note = strings.TrimPrefix(w.Note, impliesOthers)
		}
	}
}

// withoutLast removes the record at the end of a loop's body, if only the record of the last iteration is waited for
// (Last), and returns it. The record may be at the end of a branch whose condition depends on the loop variable and not
// on the rank.
func withoutLast(body []calls.Stmt, loop string, records map[string]int) ([]calls.Stmt, *calls.EventRecord) {
	at := len(body) - 1
	if at < 0 {
		return body, nil
	}
	switch s := body[at].(type) {
	case *calls.EventRecord:
		if s.Last && records[s.Event.Set] == 1 && plain(s.On).Name != calls.Compute {
			return body[:at], s
		}
	case *calls.If:
		if s.Guard == "" && s.PeerAccess == nil && len(s.Else) == 0 && expr.Mentions(s.Cond, loop) && !expr.Mentions(s.Cond, "rank") {
			var record *calls.EventRecord
			s.Body, record = withoutLast(s.Body, loop, records)
			return body, record
		}
	}
	return body, nil
}
