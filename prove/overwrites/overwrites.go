// Package overwrites finds bytes that a buffer uses again after another buffer in the same memory has used them.
//
// Without races, accesses to a byte have a fixed order if one of them writes. Suppose all uses of one buffer precede all uses
// of the next buffer that contains the byte. Then each read through a buffer returns a value that was written through this
// buffer, as if every buffer had separate memory. So it is enough to check the order of one run. An operand counts with all
// bytes from its first to its last one.
package overwrites

import (
	"slices"

	"github.com/hirgen/hirgen/prove/events"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Return is a use of a buffer at bytes that another buffer has used since the first buffer's previous use of them.
type Return struct {
	Rank, Op, Access int32 // the use
	By               Use   // the use by which the other buffer took the bytes
	First, End       int64 // bytes from the start of the memory, without End
}

// Use is an access of a rank.
type Use struct{ Rank, Op, Access int32 }

// Most is the largest number of returns that are reported. One cause usually makes many.
const Most = 20

// Find returns at most Most returns. It checks one call: all calls issue the same operations, and each computes its
// results anew.
func Find(p *unroll.Program) []Return {
	f := &finder{p: p, of: map[key]*memory{}}
	for _, m := range p.Memories {
		f.shared = append(f.shared, m.Parts > 1)
	}
	if slices.Contains(f.shared, true) {
		events.Run(p, events.Options{Mode: events.Ideal, Calls: 1, Visit: f.visit})
	}
	return f.found
}

type finder struct {
	p      *unroll.Program
	shared []bool // by memory: whether it consists of several parts
	of     map[key]*memory
	found  []Return
}

// key is a memory of a rank.
type key struct{ owner, memory int32 }

// memory records the current owner of each byte range.
type memory struct {
	now  []held           // sorted by bytes, without overlaps
	lost map[int32][]held // by part, a buffer in the memory: bytes that it used, and the parts that took them
}

// held is a byte range that belongs to a part since one of its accesses.
type held struct {
	first, end int64
	part       int32
	use        Use
}

// visit records the accesses of an operation, reads before writes. It ignores the caller's writes before a call, since buffers may
// use the memory of an output until its result is written.
func (f *finder) visit(rank, op int32) {
	r := &f.p.Ranks[rank]
	o := &r.Ops[op]
	if o.Kind == unroll.CallBegin {
		return
	}
	for _, write := range []bool{false, true} {
		for n := o.Accesses.First; n < o.Accesses.End; n++ {
			if a := &r.Accesses[n]; a.Write == write && a.Part >= 0 && f.shared[a.Memory] {
				f.access(a, Use{rank, op, n})
			}
		}
	}
}

func (f *finder) access(a *unroll.Access, use Use) {
	at := key{a.Owner, a.Memory}
	m := f.of[at]
	if m == nil {
		m = &memory{lost: map[int32][]held{}}
		f.of[at] = m
	}
	own := held{a.Offset, a.Offset + f.p.Layouts[a.Layout].Span, a.Part, use}
	for _, taken := range m.lost[a.Part] {
		if taken.first < own.end && own.first < taken.end {
			if len(f.found) < Most {
				f.found = append(f.found, Return{use.Rank, use.Op, use.Access, taken.use, max(taken.first, own.first), min(taken.end, own.end)})
			}
			return
		}
	}
	m.take(own)
}

// take gives a byte range to a part, and takes overlapping bytes from other parts.
func (m *memory) take(own held) {
	first, _ := slices.BinarySearchFunc(m.now, own.first, func(h held, at int64) int {
		if h.end <= at {
			return -1
		}
		return 1
	})
	end := first
	joined := own // own, extended by overlapping ranges of the same part
	var rest []held
	for ; end < len(m.now) && m.now[end].first < own.end; end++ {
		h := m.now[end]
		if h.part == own.part {
			joined.first, joined.end = min(joined.first, h.first), max(joined.end, h.end)
			continue
		}
		m.lost[h.part] = append(m.lost[h.part], held{max(h.first, own.first), min(h.end, own.end), own.part, own.use})
		if h.first < own.first {
			rest = append(rest, held{h.first, own.first, h.part, h.use})
		}
		if h.end > own.end {
			rest = append(rest, held{own.end, h.end, h.part, h.use})
		}
	}
	rest = append(rest, joined)
	slices.SortFunc(rest, func(a, b held) int { return int(min(max(a.first-b.first, -1), 1)) })
	m.now = slices.Replace(m.now, first, end, rest...)
}
