package passes

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// shareMemory gives buffers of one element type the same memory where, on every rank, all that uses one of
// them is done before anything that uses the next one begins, by the waits that are there: it costs nothing.
// What other ranks reach stays apart, and what is in use while calls follow each other. Of the buffers in one memory
// the largest has it.
func shareMemory(p *calls.Program) {
	values := p.Values()
	var memories []*memory
	for _, life := range order.Lives(p) {
		size, ok := values.Eval(life.Buffer.Elements)
		if !ok || life.Buffer.In != "" {
			continue
		}
		m := bestFor(life, size, memories)
		if m == nil {
			m = &memory{}
			memories = append(memories, m)
		}
		m.take(life, size)
	}
	for _, m := range memories {
		for _, b := range m.buffers {
			if b != m.largest {
				b.In = m.largest.Name
			}
		}
	}
	inside := func(b *calls.Buffer) bool { return b.In != "" }
	own := slices.DeleteFunc(slices.Clone(p.Buffers), inside)
	p.Buffers = slices.Concat(own, slices.DeleteFunc(p.Buffers, func(b *calls.Buffer) bool { return !inside(b) }))
}

// mostMemories is how many of the latest memories are looked at: programs of many thousand buffers stay
// linear.
const mostMemories = 64

// memory holds buffers, one after the other.
type memory struct {
	buffers []*calls.Buffer
	largest *calls.Buffer
	last    *order.Life
	size    int64 // of the largest one
}

func (m *memory) take(life *order.Life, size int64) {
	m.buffers, m.last = append(m.buffers, life.Buffer), life
	if m.largest == nil || size > m.size {
		m.largest, m.size = life.Buffer, size
	}
}

// holds reports whether a buffer may be the next one.
func (m *memory) holds(life *order.Life) bool {
	a, b := m.last.Buffer, life.Buffer
	return a.Type == b.Type && a.Guard == b.Guard && m.last.Before(life)
}

// bestFor is the memory that a buffer wastes or adds least of; nil where none is free.
func bestFor(life *order.Life, size int64, memories []*memory) *memory {
	misfit := func(m *memory) int64 { return max(m.size-size, size-m.size) }
	var best *memory
	for _, m := range memories[max(0, len(memories)-mostMemories):] {
		if m.holds(life) && (best == nil || misfit(m) < misfit(best)) {
			best = m
		}
	}
	return best
}
