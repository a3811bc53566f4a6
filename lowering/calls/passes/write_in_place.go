package passes

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// writeInPlace lets kernels that compute element by element, and GEMMs that add, write their result where one of their operands lies, if
// nothing uses that afterwards, slice by slice.
//
//	Buffer(name Z_); Buffer(name A_)                     Buffer(name Z_); Buffer(name A_, in Z_)
//	For(var s): Gemm(out Z_ + s)                     ->
//	            Launch(out A_ + s, a Z_ + s)
//
// Of several results it is the one that a kernel stores last. Operands of other types stay apart, those of kernels that go along rows more
// than once, outputs, and what is in use when calls follow each other.
func writeInPlace(p *calls.Program) {
	lives := map[*calls.Buffer]bool{}
	for _, life := range order.Lives(p) {
		if !life.Output {
			lives[life.Buffer] = true
		}
	}
	if len(lives) < 2 {
		return // the operand and the result are two
	}
	uses, memories := order.UsesOf(p), map[string][]*calls.Buffer{}
	memory := func(b *calls.Buffer) string {
		if b.In != "" {
			return b.In
		}
		return b.Name
	}
	for _, b := range p.Buffers {
		memories[memory(b)] = append(memories[memory(b)], b)
	}
	for _, o := range uses.Overwrites() {
		all, own := memories[memory(o.Operand)], memories[o.Result.Name]
		apart := func(other *calls.Buffer) bool { return !lives[other] || !uses.InPlace(o.Result, other) }
		if o.Result.In != "" || len(own) > 1 || len(all) == mostWrittenOver || !lives[o.Result] || !lives[o.Operand] || slices.ContainsFunc(all, apart) {
			continue
		}
		o.Result.In = memory(o.Operand)
		memories[o.Result.In] = append(all, o.Result)
		delete(memories, o.Result.Name)
	}
	ownFirst(p)
}

// mostWrittenOver is how many buffers are written over each other: programs of many thousand buffers stay linear.
const mostWrittenOver = 64

// ownFirst declares buffers in the memory of others behind those, those of one memory as they lie in it.
func ownFirst(p *calls.Program) {
	inside := func(b *calls.Buffer) bool { return b.In != "" }
	own := slices.DeleteFunc(slices.Clone(p.Buffers), inside)
	others := slices.DeleteFunc(p.Buffers, func(b *calls.Buffer) bool { return !inside(b) })
	first := map[string]int{} // of each memory: where the first one in it is declared
	for i, b := range slices.Backward(others) {
		first[b.In] = i
	}
	slices.SortStableFunc(others, func(a, b *calls.Buffer) int {
		return cmp.Or(cmp.Compare(first[a.In], first[b.In]), cmp.Compare(a.Offset, b.Offset))
	})
	p.Buffers = slices.Concat(own, others)
}
