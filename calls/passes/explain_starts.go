package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// explainStarts says why no event orders the caller's stream and the compute streams of a loop, where transfers between them do. The note
// of the record that transfers wait for covers the compute streams, too, if each of them begins with a wait for a transfer. A wait of the
// caller after the loop says that the transfers follow the compute streams, unless the caller waits for a compute stream.
//
//	EventRecord(event started_, on caller)  # transfers below wait for earlier work, which writes operands and ...
//	StreamWait(event started_, on x_)
//	...
//	For(var s, count S):
//	  StreamWait(event gathered_, index s, on compute)
//	  Gemm(..., on compute)
//
// becomes
//
//	EventRecord(event started_, on caller)  # transfers wait for earlier work, which may use their buffers, and ...
func explainStarts(p *calls.Program) {
	byCaller := map[string]bool{} // sets of events that the caller's stream records
	for r := range calls.Each[*calls.EventRecord](p.Body) {
		byCaller[r.Event.Set] = r.On.Name == calls.Caller
	}
	calls.EditLists(p.Body, func(list []calls.Stmt) []calls.Stmt {
		var start *calls.EventRecord // the last record for transfers
		open := false                // the caller's stream has yet to wait for a loop on compute streams
		for i, s := range list {
			if r, ok := s.(*calls.EventRecord); ok && strings.HasPrefix(r.Note, "transfers below wait") {
				start = r
			}
			first, waits := useOfCompute(s), waitOfCaller(s)
			_, flag := first.(*calls.FlagWait)
			event, ok := first.(*calls.StreamWait)
			_, record := first.(*calls.EventRecord)
			switch {
			case first == nil && waits && open:
				open = false
				alone := i+1 == len(list) || !waitOfCaller(list[i+1]) // several waits may imply the order together
				if info := s.Meta(); alone && !strings.Contains(info.Note, follow) {
					info.Note = strings.TrimPrefix(info.Note+". "+follow, ". ")
				}
			case first != nil:
				open = !record && !waits
				if start != nil && (flag || ok && !byCaller[event.Event.Set]) {
					start.Note = "transfers wait for earlier work, which may use their buffers, and compute streams wait for transfers"
				}
				start = nil
			}
		}
		return list
	})
}

// follow is the note on the caller's wait for transfers, which is also its wait for the compute streams.
const follow = "The transfers follow all work of the compute streams"

// useOfCompute returns the first statement that uses a compute stream, of a statement and those inside it; nil if there is none.
func useOfCompute(s calls.Stmt) calls.Stmt {
	for inner := range calls.All([]calls.Stmt{s}) {
		_, names := inner.(*calls.DeclareStream)
		if !names && slices.ContainsFunc(calls.StreamsOf(inner), func(on calls.Stream) bool { return plain(on).Name == calls.Compute }) {
			return inner
		}
	}
	return nil
}

// waitOfCaller reports whether the caller's stream waits for an event in a statement.
func waitOfCaller(s calls.Stmt) bool {
	return calls.Any([]calls.Stmt{s}, func(inner calls.Stmt) bool {
		w, ok := inner.(*calls.StreamWait)
		return ok && w.On.Name == calls.Caller
	})
}
