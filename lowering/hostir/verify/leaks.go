package verify

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// freesAll reports whether a program has to free all its temporary buffers on every path. That is so if its schedule
// has "buffers: free" and it has a Deallocate.
func freesAll(p *hostir.Program) bool {
	return p.Choices.Get(schedule.Buffers) == schedule.Free && hostir.Any(p.Body, hostir.Is[*hostir.Deallocate])
}

// leaked reports buffers that were allocated since the log had length mark, and not freed.
func (f *flow) leaked(mark int, format string) {
	for _, k := range f.added(mark, kept) {
		t, _ := k.what.(*hostir.Tensor)
		f.breachAt(f.allocates[t], "leak", format, k)
	}
}

// freedAlone reports buffers, allocated before an If, that only one side of the If frees.
func (f *flow) freedAlone(s *hostir.If, then, other []change) {
	sides := map[fact]int{}
	for _, c := range append(then, other...) {
		if !c.added && c.fact.kind == kept && f.facts[c.fact] {
			if sides[c.fact]++; sides[c.fact] == 2 {
				delete(sides, c.fact)
			}
		}
	}
	for _, c := range append(then, other...) {
		if !c.added && sides[c.fact] == 1 {
			f.breach(s, "leak", "%s is freed on one side of the If alone", c.fact)
		}
	}
}
