package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// explainStarts adds notes that say what waits for a record of the caller's stream: peers that may use memory after it,
// transfers, or both. Two more notes give the reason why no event orders the caller's stream and the compute streams of a loop, if
// transfers between them already do. The note on the record mentions the compute streams if they begin with a wait for
// a transfer. The note on the caller's wait after the loop says that the transfers follow the compute streams, unless
// the caller also waits for a compute stream.
//
//	EventRecord(event started_, on caller)  # transfers below wait for the caller's earlier work, which may use their buffers
//	StreamWait(event started_, on x_)
//	...
//	For(var s, count S):
//	  StreamWait(event gathered_, index s, on compute)
//	  Gemm(..., on compute)
//
// becomes
//
//	EventRecord(event started_, on caller)  # transfers below wait for ... The compute streams wait for transfers, ...
func explainStarts(p *calls.Program) {
	labels := calls.ByName(p.Labels)
	byCaller := map[string]bool{} // sets of events that the caller's stream records
	for r := range calls.Each[*calls.EventRecord](p.Body) {
		byCaller[r.Event.Set] = r.On.Name == calls.Caller
	}
	calls.EditLists(p.Body, func(list []calls.Stmt) []calls.Stmt {
		var start *calls.EventRecord // the last record for transfers
		open := false                // the caller's stream has not yet waited for a loop on compute streams
		for i, s := range list {
			if r, ok := s.(*calls.EventRecord); ok && strings.HasPrefix(r.Note, calls.TransfersWait) {
				start, r.Note = r, opens(list[i+1:], labels)
			}
			first, waits := useOfCompute(s), waitOfCaller(s)
			_, flag := first.(*calls.FlagWait)
			event, ok := first.(*calls.StreamWait)
			_, record := first.(*calls.EventRecord)
			switch {
			case first == nil && waits && open:
				open = false
				alone := i+1 == len(list) || !waitOfCaller(list[i+1]) // several waits in a row may imply the order only together
				if info := s.Meta(); alone && !strings.Contains(info.Note, follow) {
					info.Note = strings.TrimPrefix(info.Note+". "+follow, ". ")
				}
			case first != nil:
				open = !record && !waits
				if start != nil && (flag || ok && !byCaller[event.Event.Set]) {
					start.Note += ". The compute streams wait for transfers, and so follow that work, too"
				}
				start = nil
			}
		}
		return list
	})
}

// opens returns the note on a record of the caller's stream, given the statements after it. The labels of ready flags
// say what peers may do.
func opens(rest []calls.Stmt, labels map[string]*calls.Label) string {
	rest = lists.Except(rest, calls.Is[*calls.StreamWait])
	var uses []string // "write P_parts"
	for len(rest) > 0 {
		more := usesOf(rest[0], labels)
		if len(more) == 0 {
			break
		}
		uses, rest = append(uses, more...), rest[1:]
	}
	if len(uses) == 0 {
		return calls.TransfersWait
	}
	what, why := strings.Join(slices.Compact(uses), ", "), "which writes it"
	if strings.Contains(" "+what, " write ") {
		why = "which may use that memory"
	}
	note := "peers may " + what + " only after earlier work, " + why
	if len(rest) > 0 && sends(rest[0]) {
		note += "; transfers below wait for it, too"
	}
	return note
}

// usesOf lists what peers may do with memory after the ready flags that a statement writes: "write P_parts".
func usesOf(s calls.Stmt, labels map[string]*calls.Label) []string {
	var uses []string
	for f := range calls.Each[*calls.FlagWrite]([]calls.Stmt{s}) {
		label := f.Label
		if batch, ok := s.(*calls.MemOpBatch); ok {
			label = batch.Label
		}
		if d := labels[label]; d != nil {
			if _, words, found := strings.Cut(d.Text, " let peers "); found {
				uses = append(uses, strings.ReplaceAll(words, "let peers ", ""))
			}
		}
	}
	return slices.Compact(uses)
}

// sends reports whether a statement starts transfers, and contains no wait for an event.
func sends(s calls.Stmt) bool {
	in := []calls.Stmt{s}
	return calls.Any(in, func(inner calls.Stmt) bool {
		_, what := carried(inner)
		return what != ""
	}) && !calls.Any(in, calls.Is[*calls.StreamWait])
}

// follow is the note on the caller's wait for transfers, which replaces a wait for the compute streams.
const follow = "The transfers follow all work of the compute streams"

// useOfCompute returns the first statement that uses a compute stream: s or a statement nested in it; nil if there is
// none.
func useOfCompute(s calls.Stmt) calls.Stmt {
	for inner := range calls.All([]calls.Stmt{s}) {
		if !calls.Is[*calls.DeclareStream](inner) &&
			slices.ContainsFunc(calls.StreamsOf(inner), func(on calls.Stream) bool { return plain(on).Name == calls.Compute }) {
			return inner
		}
	}
	return nil
}

// waitOfCaller reports whether a statement contains a wait of the caller's stream for an event.
func waitOfCaller(s calls.Stmt) bool {
	return calls.Any([]calls.Stmt{s}, func(inner calls.Stmt) bool {
		w, ok := inner.(*calls.StreamWait)
		return ok && w.On.Name == calls.Caller
	})
}
