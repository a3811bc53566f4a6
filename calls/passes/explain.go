package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// explain adds notes to communications in loops with GEMMs, if they run on a stream without these GEMMs and there are
// at least two compute streams. A note describes what the communication overlaps with. It replaces a previous note. If
// records and waits before the communication make its stream ready, the first of them has the note. explain also drops
// notes that repeat an earlier note of the same list, except in the outermost list. A wait of the caller's stream for a
// send gets a note with the reason. Then headSections names the communications, and in a CUDA graph the first BeginCall
// gets a note.
func explain(p *calls.Program) {
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		for _, inner := range calls.Bodies(s) {
			sayOnce(*inner)
		}
		return []calls.Stmt{s}
	})
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		loop, ok := s.(*calls.For)
		if !ok {
			return true
		}
		gemms := map[calls.Stream]bool{}
		for g := range calls.Each[*calls.Gemm](loop.Body) {
			gemms[plain(g.On)] = true
		}
		if len(gemms) > 0 {
			(&explainer{program: p, gemms: gemms}).list(loop.Body)
		}
		return len(gemms) == 0
	})
	labels := calls.ByName(p.Labels)
	for w := range calls.Each[*calls.StreamWait](p.Body) {
		if d := labels[w.Label]; w.Note == "" && w.On.Name == calls.Caller && d != nil && strings.HasSuffix(d.Text, " is sent") {
			w.Note = "later work may overwrite what was sent"
		}
	}
	headSections(p.Body, labels)
	for s := range calls.Each[*calls.BeginCall](p.Body) {
		if p.Graph {
			s.Note = "kernels count the calls in device memory, because a graph repeats its arguments"
		}
		break // one note is enough for all
	}
}

// sayOnce clears each note that is equal to the note of an earlier statement of the list.
func sayOnce(body []calls.Stmt) {
	said := map[string]bool{}
	for _, s := range body {
		info := s.Meta()
		if info.Note != "" && said[info.Note] {
			info.Note = ""
		}
		said[info.Note] = true
	}
}

// plain returns a stream for comparison, in which all compute streams are the same.
func plain(on calls.Stream) calls.Stream {
	if on.Index != nil {
		return calls.Stream{Name: calls.Compute}
	}
	return on
}

// explainer adds notes in one loop.
type explainer struct {
	program *calls.Program
	gemms   map[calls.Stream]bool // streams on which GEMMs of the loop run
}

func (e *explainer) list(body []calls.Stmt) {
	for i, s := range body {
		for _, inner := range calls.Bodies(s) {
			if _, group := s.(*calls.NcclGroup); !group {
				e.list(*inner)
			}
		}
		on, what := carried(s)
		if what == "" || e.gemms[plain(on)] || e.program.Streams < 2 {
			continue
		}
		first := i
		for first > 0 && readiesStream(body[first-1], on) {
			first--
		}
		body[first].Meta().Note = what + ", where it may overlap with the GEMMs of other iterations"
	}
}

// carried returns the stream of a communicator's call or of a copy on the copy stream, and words for that stream in a
// note. The words are empty for other statements, and for calls on the caller's stream.
func carried(s calls.Stmt) (on calls.Stream, what string) {
	switch s := s.(type) {
	case *calls.NcclCall, *calls.NcclGroup:
		if on := calls.StreamsOf(s)[0]; on.Team {
			return on, "on the stream of the communicator"
		}
	case *calls.Memcpy:
		if s.On.Name == calls.Copies {
			return s.On, "on the copy stream"
		}
	case *calls.Transfer:
		return s.On, "on the copy stream"
	}
	return calls.Stream{}, ""
}

// readiesStream reports whether a statement makes the stream on wait, or records an event on another stream. A record for
// the watchdog does not count.
func readiesStream(s calls.Stmt, on calls.Stream) bool {
	switch s := s.(type) {
	case *calls.EventRecord:
		return !s.Watch && s.On != on
	case *calls.StreamWait:
		return s.On == on
	case *calls.FlagWait:
		return slices.Contains(calls.StreamsOf(s), on)
	}
	return false
}
