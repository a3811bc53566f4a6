package hostir

// SignalKind is what a group of statements over CUDA IPC does for each of its transfers. Such
// a group holds statements of one kind alone, also in loops, and is spelled as one operation:
// none of them waits for another. Each transfer keeps its handle, and the group is not waited
// for.
type SignalKind int

// The kinds of such groups.
const (
	NoSignals SignalKind = iota // statements of other kinds, or of several
	Lends                       // owners say that the peer may use their buffer
	Copies                      // copiers wait for that, copy, and say so
	Returns                     // owners wait until the peer has copied
)

// SignalKindOf tells what a statement and all in it does, given the program's Exchanges.
func SignalKindOf(s Stmt, exchanges map[string]*Exchange) SignalKind {
	switch s := s.(type) {
	case *P2PCommunication:
		switch {
		case !s.Backend.IPC():
			return NoSignals
		case s.Owns():
			return Lends
		}
		return Copies
	case *Wait:
		if e := exchanges[s.Handle]; e != nil && e.Send.Backend.IPC() && e.Owner().Handle == s.Handle {
			return Returns
		}
		return NoSignals
	case *For:
		return SignalKindOfAll(s.Body, exchanges)
	case *If:
		if len(s.Else) == 0 {
			return SignalKindOfAll(s.Body, exchanges)
		}
	}
	return NoSignals
}

// SignalKindOfAll tells what all statements of a list do. Those that only name memory count for
// nothing.
func SignalKindOfAll(body []Stmt, exchanges map[string]*Exchange) SignalKind {
	all := NoSignals
	for _, s := range body {
		switch s.(type) {
		case *ShareMemHandles, *Select:
			continue
		}
		kind := SignalKindOf(s, exchanges)
		if kind == NoSignals || all != NoSignals && all != kind {
			return NoSignals
		}
		all = kind
	}
	return all
}

// Group gives what stands between a StartCoalescing and its end, from what follows the start;
// nil if the list has no end of it.
func Group(rest []Stmt) ([]Stmt, *EndCoalescing) {
	for i, s := range rest {
		if end, ok := s.(*EndCoalescing); ok {
			return rest[:i], end
		}
	}
	return rest, nil
}
