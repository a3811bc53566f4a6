// Package turns finds bytes that a buffer is used at after another one, in the same memory, has had them.
//
// Where races are excluded, accesses to a byte are in one order if one of them writes. If in this order all uses of a buffer come before
// all uses of the next one that has the byte, then what is read through a buffer was written through it, as if each buffer had memory of its
// own. So the order of one run is enough. An operand counts with all bytes from its first to its last one.
package turns

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/prove/events"
	"github.com/hirgen/hirgen/lowering/prove/unroll"
)

// Return is the use of a buffer at bytes that another one has had since it was used there before.
type Return struct {
	Rank, Op, Access int32 // the use
	By               Use   // what the other one was used for first
	First, End       int64 // bytes of the memory
}

// Use is an access of a rank.
type Use struct{ Rank, Op, Access int32 }

// Most is how many are reported: one cause has many.
const Most = 20

// Find looks at one call. Another one begins with results of its own.
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
	shared []bool // by memory: several buffers lie in it
	of     map[key]*memory
	found  []Return
}

// key is a memory of a rank.
type key struct{ owner, memory int32 }

// memory is who has its bytes.
type memory struct {
	now  []held           // in the order of the bytes, apart from each other
	lost map[int32][]held // by part: bytes that it had, and who took them
}

// held is bytes of the part whose access used them.
type held struct {
	first, end int64
	part       int32
	use        Use
}

// visit takes the accesses of an operation: it reads before it writes. What the caller writes before a call is in no result.
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

// take gives bytes to a part. Others that have some of them lose these.
func (m *memory) take(own held) {
	first, _ := slices.BinarySearchFunc(m.now, own.first, func(h held, at int64) int {
		if h.end <= at {
			return -1
		}
		return 1
	})
	end := first
	joined := own // with what is around it of the same part
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
