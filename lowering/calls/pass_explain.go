package calls

import "slices"

// explain says of the communications in loops with GEMMs what they overlap with. The note stands on
// the first statement of those that hand the stream over, in place of what it said there. What a
// statement before in the same list says already is not said again.
func explain(p *Program) {
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		for _, inner := range Bodies(s) {
			sayOnce(*inner)
		}
		return []Stmt{s}
	})
	Walk(p.Body, func(s Stmt) bool {
		loop, ok := s.(*For)
		if !ok {
			return true
		}
		gemms := map[Stream]bool{}
		Walk(loop.Body, func(inner Stmt) bool {
			if g, ok := inner.(*Gemm); ok {
				gemms[plain(g.On)] = true
			}
			return true
		})
		if len(gemms) > 0 {
			(&explainer{program: p, gemms: gemms}).list(loop.Body)
		}
		return len(gemms) == 0
	})
}

// sayOnce drops the notes of a list that repeat one before.
func sayOnce(body []Stmt) {
	said := map[string]bool{}
	for _, s := range body {
		info := s.Meta()
		if info.Note != "" && said[info.Note] {
			info.Note = ""
		}
		said[info.Note] = true
	}
}

// plain is a stream that can be compared: compute streams are one.
func plain(on Stream) Stream {
	if on.Index != nil {
		return Stream{Name: Compute}
	}
	return on
}

// explainer writes notes in one loop.
type explainer struct {
	program *Program
	gemms   map[Stream]bool // streams that GEMMs of the loop run on
}

func (e *explainer) list(body []Stmt) {
	for i, s := range body {
		for _, inner := range Bodies(s) {
			if _, group := s.(*NcclGroup); !group {
				e.list(*inner)
			}
		}
		on, what := carried(s)
		if what == "" || e.gemms[plain(on)] || e.program.Streams < 2 {
			continue
		}
		first := i
		for first > 0 && handsOver(body[first-1], on) {
			first--
		}
		body[first].Meta().Note = what + ", under the GEMMs of other iterations"
	}
}

// carried names what moves data between ranks and the stream that carries it.
func carried(s Stmt) (on Stream, what string) {
	switch s := s.(type) {
	case *NcclCall:
		return Stream{Name: s.Team, Team: true}, "on the stream of the communicator"
	case *NcclGroup:
		return Stream{Name: s.Team, Team: true}, "on the stream of the communicator"
	case *Memcpy:
		return s.On, "on the copy stream"
	case *Transfer:
		return s.On, "on the copy stream"
	}
	return Stream{}, ""
}

// handsOver reports whether a statement makes a stream ready for what comes next on it.
func handsOver(s Stmt, on Stream) bool {
	switch s := s.(type) {
	case *EventRecord:
		return !s.Watch && s.On != on
	case *StreamWait:
		return s.On == on
	case *FlagWait:
		return slices.Contains(streamsOf(s), on)
	}
	return false
}
