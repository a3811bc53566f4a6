package lowertest

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// HappensBefore is the happens-before relation of the events of a program: which events end before others begin in every
// order of execution.
type HappensBefore struct {
	Events []interp.Event
	sorted []int      // events in a topological order
	after  [][]uint64 // event -> a bit for each event that it follows, directly or not
}

// NewHappensBefore derives the relation for a program. nodes has the node of each rank; nil: all are on one node. It
// returns an error if the program cannot end.
func NewHappensBefore(nodes []int, p *hostir.Program) (*HappensBefore, error) {
	events, err := interp.Events(nodes, p)
	if err != nil {
		return nil, err
	}
	h := &HappensBefore{Events: events, sorted: sortEvents(events)}
	if h.sorted == nil {
		return nil, fmt.Errorf("deadlock: events wait for each other")
	}
	h.after = make([][]uint64, len(events))
	words := len(events)/64 + 1
	for _, i := range h.sorted {
		bits := make([]uint64, words)
		for _, j := range events[i].After {
			bits[j/64] |= 1 << (j % 64)
			for k, word := range h.after[j] {
				bits[k] |= word
			}
		}
		h.after[i] = bits
	}
	return h, nil
}

// sortEvents sorts events topologically. It returns nil if there is a cycle.
func sortEvents(events []interp.Event) []int {
	left, next := make([]int, len(events)), make([][]int, len(events))
	sorted := make([]int, 0, len(events))
	for i, e := range events {
		if left[i] = len(e.After); left[i] == 0 {
			sorted = append(sorted, i)
		}
		for _, j := range e.After {
			next[j] = append(next[j], i)
		}
	}
	for at := 0; at < len(sorted); at++ {
		for _, i := range next[sorted[at]] {
			if left[i]--; left[i] == 0 {
				sorted = append(sorted, i)
			}
		}
	}
	if len(sorted) < len(events) {
		return nil
	}
	return sorted
}

// Sorted returns the events in an order of execution.
func (h *HappensBefore) Sorted() []int { return h.sorted }

// Follows reports whether event begins only after other has ended.
func (h *HappensBefore) Follows(event, other int) bool {
	return h.after[event][other/64]&(1<<(other%64)) != 0
}

// Race returns an error for two concurrent events that access the same element, at least one of them writing. It also
// reports work that the caller's stream does not follow at the end of the call.
func (h *HappensBefore) Race() error {
	type element struct {
		buffer *float64
		at     int64
	}
	type touched struct {
		writer  int // the last event that wrote, plus 1; 0: none
		readers []int
	}
	history := map[element]*touched{}
	for _, i := range h.sorted {
		for _, a := range h.Events[i].Accesses {
			for _, at := range a.Elements {
				e := history[element{a.Buffer, at}]
				if e == nil {
					e = &touched{}
					history[element{a.Buffer, at}] = e
				}
				if e.writer > 0 && e.writer-1 != i && !h.Follows(i, e.writer-1) {
					return h.race(e.writer-1, i)
				}
				if !a.Writes {
					e.readers = append(e.readers, i)
					continue
				}
				for _, reader := range e.readers {
					if reader != i && !h.Follows(i, reader) {
						return h.race(reader, i)
					}
				}
				*e = touched{writer: i + 1}
			}
		}
	}
	return h.loose()
}

// loose returns an error for work that the caller's stream does not follow when the call ends.
func (h *HappensBefore) loose() error {
	type call struct{ rank, call int }
	last := map[call]int{}
	for i, e := range h.Events {
		if e.Stream == interp.CallersStream {
			last[call{e.Rank, e.Call}] = i
		}
	}
	for i, e := range h.Events {
		if end := last[call{e.Rank, e.Call}]; e.Stream != "" && works(e.Stmt) && end != i && !h.Follows(end, i) {
			return fmt.Errorf("the caller does not follow %s", h.describe(i))
		}
	}
	return nil
}

// works reports whether a statement does more than order other statements.
func works(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Synchronize, *hostir.Wait:
		return false
	default:
		return true
	}
}

func (h *HappensBefore) race(a, b int) error {
	return fmt.Errorf("%s and %s touch the same element in any order", h.describe(a), h.describe(b))
}

func (h *HappensBefore) describe(i int) string {
	e := h.Events[i]
	if e.Stmt == nil {
		return fmt.Sprintf("the caller (event %d, rank %d, call %d)", i, e.Rank, e.Call)
	}
	iteration := ""
	if len(e.Accesses) > 0 {
		iteration = fmt.Sprintf(", iteration %v", e.Accesses[0].Iteration)
	}
	return fmt.Sprintf("%s (event %d, rank %d, call %d%s, stream %s)", text.Statement(e.Stmt), i, e.Rank, e.Call, iteration, e.Stream)
}

// OnOneQueue returns an error if the program deadlocks when a single queue of each rank runs the events of all streams
// in the order of issue.
func (h *HappensBefore) OnOneQueue() error {
	events, last := slices.Clone(h.Events), map[int]int{}
	for i, e := range events {
		if e.Stream == "" {
			continue
		}
		if before, ok := last[e.Rank]; ok {
			events[i].After = append(slices.Clone(e.After), before)
		}
		last[e.Rank] = i
	}
	if sortEvents(events) == nil {
		return fmt.Errorf("on one queue a rank, events wait for each other")
	}
	return nil
}
