package passes

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// writeInPlace lets elementwise kernels, and GEMMs with an addend, write their result over one of their operands, if
// nothing uses the operand afterwards. The uses are compared by bytes, so this works slice by slice.
//
//	Buffer(name Z_); Buffer(name A_)                     Buffer(name Z_); Buffer(name A_, in Z_)
//	For(var s): Gemm(out Z_ + s)                     ->
//	            Launch(out A_ + s, a Z_ + s)
//
// Of several results, the pass takes the one that the kernel stores last. It excludes operands of another type or
// layout, kernels that reduce or gather, outputs, and buffers that are in use from one call to the next.
func writeInPlace(p *calls.Program) {
	lifetimes := map[*calls.Buffer]bool{}
	for _, life := range order.Lifetimes(p) {
		if !life.Output {
			lifetimes[life.Buffer] = true
		}
	}
	if len(lifetimes) < 2 {
		return // writing in place needs an operand and a result
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
		apart := func(other *calls.Buffer) bool { return !lifetimes[other] || !uses.InPlace(o.Result, other) }
		if o.Result.In != "" || len(own) > 1 || len(all) == mostWrittenOver || !lifetimes[o.Result] || !lifetimes[o.Operand] ||
			slices.ContainsFunc(all, apart) {
			continue
		}
		o.Result.In = memory(o.Operand)
		memories[o.Result.In] = append(all, o.Result)
		delete(memories, o.Result.Name)
	}
	ownFirst(p)
}

// mostWrittenOver is the largest number of buffers in one memory. The limit keeps the time of the pass linear for
// programs with thousands of buffers.
const mostWrittenOver = 64

// ownFirst sorts the declarations: first buffers with their own memory, then buffers inside other memory. Buffers
// inside one memory are adjacent, and sorted by offset.
func ownFirst(p *calls.Program) {
	inside := func(b *calls.Buffer) bool { return b.In != "" }
	own := lists.Except(p.Buffers, inside)
	others := slices.DeleteFunc(p.Buffers, func(b *calls.Buffer) bool { return !inside(b) })
	first := map[string]int{} // by memory: index of the first buffer declared in it
	for i, b := range slices.Backward(others) {
		first[b.In] = i
	}
	slices.SortStableFunc(others, func(a, b *calls.Buffer) int {
		return cmp.Or(cmp.Compare(first[a.In], first[b.In]), cmp.Compare(a.Offset, b.Offset))
	})
	p.Buffers = slices.Concat(own, others)
}
