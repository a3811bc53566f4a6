package mutate

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// drop returns an edit that removes a statement. Each statement s with which(s) true is a site.
func drop(which func(calls.Stmt) bool) func(*editor) {
	return inLists(func(e *editor, list []calls.Stmt) []calls.Stmt {
		var kept []calls.Stmt
		for _, s := range list {
			if !which(s) || !e.here(s, "left out") {
				kept = append(kept, s)
			}
		}
		return kept
	})
}

// waitedFor reports whether a statement records an event that streams may wait for. Records only for the watchdog do
// not count.
func waitedFor(s calls.Stmt) bool {
	r, ok := s.(*calls.EventRecord)
	return ok && !r.Watch
}

// joins reports whether a statement makes the caller's stream wait.
func joins(s calls.Stmt) bool {
	w, ok := s.(*calls.StreamWait)
	return ok && w.On.Name == calls.Caller
}

// works reports whether a statement copies, computes or moves data.
func works(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.Memcpy, *calls.Transfer, *calls.NcclCall, *calls.Gemm, *calls.Attend, *calls.Launch, *calls.PeerSum, *calls.PeerPart:
		return true
	}
	return false
}

// doesWork reports whether a statement copies, computes or moves data, or contains one that does.
func doesWork(s calls.Stmt) bool {
	return calls.Any([]calls.Stmt{s}, works)
}

// moved moves the statement at from before the statement at to, where to < from.
func moved(list []calls.Stmt, from, to int) []calls.Stmt {
	s := list[from]
	copy(list[to+1:from+1], list[to:from])
	list[to] = s
	return list
}

func waitBeforeRecord(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		w, ok := s.(*calls.StreamWait)
		for j := 0; ok && j < i; j++ {
			r, isRecord := list[j].(*calls.EventRecord)
			if isRecord && r.Event.Set == w.Event.Set && e.here(s, "moved before %s", "its record") {
				return moved(list, i, j)
			}
		}
	}
	return list
}

func earlyRecord(e *editor, list []calls.Stmt) []calls.Stmt {
	for i := 1; i < len(list); i++ {
		if waitedFor(list[i]) && doesWork(list[i-1]) && e.here(list[i], "moved before the statement before it") {
			return moved(list, i, i-1)
		}
	}
	return list
}

// writesFlags reports whether a statement is a write, or a batch of writes, of flags.
func writesFlags(s calls.Stmt) bool {
	batch, ok := s.(*calls.MemOpBatch)
	return calls.Is[*calls.FlagWrite](s) || ok && batch.Use == "write"
}

func waitsForFlags(s calls.Stmt) bool {
	batch, ok := s.(*calls.MemOpBatch)
	return calls.Is[*calls.FlagWait](s) || ok && batch.Use == "wait"
}

func earlyFlagWrite(e *editor, list []calls.Stmt) []calls.Stmt {
	for i := range list {
		before := i - 1
		for before >= 0 && !issues(list[before]) {
			before--
		}
		if before >= 0 && writesFlags(list[i]) && !writesFlags(list[before]) && e.here(list[i], "moved before the statement before it") {
			return moved(list, i, before)
		}
	}
	return list
}

func lateFlagWait(e *editor, list []calls.Stmt) []calls.Stmt {
	for i := 0; i+1 < len(list); i++ {
		if waitsForFlags(list[i]) && !waitsForFlags(list[i+1]) && e.here(list[i], "moved behind the statement after it") {
			return moved(list, i+1, i)
		}
	}
	return list
}

func reorder(e *editor, list []calls.Stmt) []calls.Stmt {
	for i := 1; i < len(list); i++ {
		if issues(list[i-1]) && issues(list[i]) && e.here(list[i], "moved before the statement before it") {
			return moved(list, i, i-1)
		}
	}
	return list
}

// issues reports whether a statement may issue work. Declarations of names, BeginCall and Delay do not count.
func issues(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.Let, *calls.Declare, *calls.DeclareStream, *calls.BeginCall, *calls.Delay:
		return false
	}
	return true
}

func duplicate(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		if works(s) && e.here(s, "issued twice") {
			return append(list[:i+1:i+1], append(e.copied(s), list[i+1:]...)...)
		}
	}
	return list
}

// eventIndex makes a wait or a record use the next event of its set.
func eventIndex(e *editor) {
	counts := calls.ByName(e.program.Events)
	change := func(s calls.Stmt, at *calls.Event) {
		n, _ := e.program.Values().Eval(counts[at.Set].Count)
		if n > 1 && e.here(s, "the next event") {
			at.Index = next(at.Index, expr.Int(n))
		}
	}
	each(func(_ *editor, s *calls.StreamWait) { change(s, &s.Event) })(e)
	each(func(_ *editor, s *calls.EventRecord) {
		if !s.Watch {
			change(s, &s.Event)
		}
	})(e)
}

// next returns (i + 1) % n.
func next(i, n expr.Expr) expr.Expr { return expr.Op("%", expr.Op("+", i, expr.Int(1)), n) }

// otherStream moves a statement to another stream of the program; each other stream is a site.
func otherStream(e *editor) {
	streams := streamsOf(e.program)
	each(func(e *editor, s calls.Stmt) {
		for _, f := range calls.Fields(s) {
			on, ok := f.Value.(*calls.Stream)
			if !ok || *on == (calls.Stream{}) || calls.Is[*calls.Delay](s) {
				continue
			}
			for _, other := range streams {
				if other.String() != on.String() && e.here(s, "on %s", other) {
					*on = other
				}
			}
		}
	})(e)
}

// streamsOf lists the streams of a program that have the same name everywhere, and the first
// compute stream.
func streamsOf(p *calls.Program) []calls.Stream {
	list := []calls.Stream{{Name: calls.Caller}}
	if p.Streams > 0 {
		list = append(list, calls.Stream{Index: expr.Int(0)})
	}
	seen := map[string]bool{}
	for s := range calls.All(p.Body) {
		for _, on := range calls.StreamsOf(s) {
			if (on.Team || on.Name == calls.Copies) && !seen[on.String()] {
				seen[on.String()] = true
				list = append(list, on)
			}
		}
	}
	return list
}

func otherWorkspace(e *editor, s *calls.Gemm) {
	if s.Workspace != nil && e.program.Streams > 1 && e.here(s, "the next workspace") {
		s.Workspace = next(s.Workspace, expr.Int(e.program.Streams))
	}
}
