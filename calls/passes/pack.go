package passes

import (
	"cmp"
	"math"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/calls/order"
)

// mostAtOnce is the largest number of buffers in use at the same time that are packed. If there are more, the buffers
// that began first keep separate memory. The time of packing depends on this number.
const mostAtOnce = 512

// aligned rounds an offset up to the alignment of buffers, which cudaMalloc guarantees.
func aligned(at int64) int64 { return (at + align.Buffer - 1) / align.Buffer * align.Buffer }

// block is a memory to place: a buffer with the buffers that it already contains. For an output, it is memory to place
// others in.
type block struct {
	life    *order.Lifetime
	buffers []*calls.Buffer
	bytes   int64
	fixed   bool     // it may not be placed in an output: it is scratch memory, or other ranks access it
	in      *block   // the output that contains it; nil: the program's own memory
	at      int64    // offset in bytes in the memory that contains it; -1: not placed
	beside  []*block // for scratch memory: blocks in use at the same time
}

func (b *block) end() int64 { return b.at + b.bytes }

// isScratch reports whether the block is scratch memory of an attention.
func (b *block) isScratch() bool { return b.life.Buffer.Works != "" }

// ofBuffers returns the bytes of the block, or 0 for scratch memory.
func (b *block) ofBuffers() int64 {
	if b.isScratch() {
		return 0
	}
	return b.bytes
}

// ownEnd returns the end of the block in the program's own memory; 0 if it is in an output.
func (b *block) ownEnd() int64 {
	if b.in != nil {
		return 0
	}
	return b.end()
}

// mostTries limits how many orders of blocks pack tries with each order of outputs.
const mostTries = 8

// pack places the blocks of buffers that exist on the same ranks. They are in the order in which their lifetimes begin.
// Blocks whose lifetimes may overlap get different bytes; others may share bytes. From the largest to the smallest,
// each gets the first free bytes. Before the program's own memory would grow, a block gets free bytes of an output. Two
// choices cannot be decided when a block is placed, so pack tries both:
//   - Outputs sorted by size: the smallest output that fits leaves large outputs to large blocks. Outputs in the order
//     of their first use: this leaves later outputs to blocks with longer lifetimes.
//   - The block with the highest end did not fit below other blocks. If it is placed first, all blocks may fit in less
//     memory.
//
// pack keeps the first result that uses the least of the program's own memory.
func pack(blocks []*block) {
	lifetimes := make([]*order.Lifetime, len(blocks))
	for i, b := range blocks {
		lifetimes[i] = b.life
	}
	beside, apart := order.Beside(lifetimes, mostAtOnce)
	rest, outputs := kinds(blocks, apart)
	if len(rest) == 0 {
		return
	}
	largest := func(i, j int) int { return cmp.Compare(blocks[j].bytes, blocks[i].bytes) }
	slices.SortStableFunc(rest, largest)
	smallest := slices.SortedStableFunc(slices.Values(outputs), func(i, j int) int { return largest(j, i) })
	var best, in []int
	least := int64(math.MaxInt64)
	for _, outputs := range [][]int{smallest, outputs} {
		list := slices.Clone(rest)
		for range mostTries {
			if own := place(blocks, beside, list, outputs); own < least {
				best, in, least = slices.Clone(list), outputs, own
			}
			if !lastFirst(blocks, list) {
				break
			}
		}
	}
	place(blocks, beside, best, in)
	for i, b := range blocks {
		for _, j := range beside[i] {
			if b.isScratch() {
				b.beside = append(b.beside, blocks[j])
			}
		}
	}
}

// kinds returns the indices of the blocks to place, and the indices of outputs. It omits blocks for which apart is
// true.
func kinds(blocks []*block, apart []bool) (rest, outputs []int) {
	for i, b := range blocks {
		switch {
		case apart[i]:
		case b.life.Output:
			outputs = append(outputs, i)
		default:
			rest = append(rest, i)
		}
	}
	return rest, outputs
}

// lastFirst moves the block with the highest end in the program's own memory to the front of a list. It reports whether
// the list changed.
func lastFirst(blocks []*block, list []int) bool {
	last := slices.MaxFunc(list, func(i, j int) int { return cmp.Compare(blocks[i].ownEnd(), blocks[j].ownEnd()) })
	at := slices.Index(list, last)
	copy(list[1:], list[:at])
	list[0] = last
	return at > 0
}

// place places the blocks with the given indices, in order, after it has reset their previous places. Each gets the
// first free bytes or, before the program's own memory would grow, free bytes of the first output that has enough. It
// returns the size of the program's own memory in bytes.
func place(blocks []*block, beside [][]int, rest, outputs []int) (own int64) {
	for _, i := range rest {
		blocks[i].in, blocks[i].at = nil, -1
	}
	for _, o := range outputs {
		blocks[o].in, blocks[o].at = blocks[o], 0
	}
	for _, i := range rest {
		b := blocks[i]
		at := firstFree(blocks, beside[i], nil, b.bytes)
		for _, o := range outputs {
			if room := blocks[o]; at+b.bytes > own && !b.fixed {
				if free := firstFree(blocks, beside[i], room, b.bytes); free+b.bytes <= room.bytes {
					b.in, at = room, free
					break
				}
			}
		}
		if b.at = at; b.in == nil {
			own = max(own, b.end())
		}
	}
	return own
}

// firstFree returns the first offset in a memory at which the given number of bytes does not overlap the taken blocks.
func firstFree(blocks []*block, taken []int, in *block, bytes int64) (at int64) {
	var list []*block
	for _, i := range taken {
		if b := blocks[i]; b.at >= 0 && b.in == in {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *block) int { return cmp.Compare(a.at, b.at) })
	for _, b := range list {
		if at+bytes <= b.at {
			break
		}
		at = max(at, aligned(b.end()))
	}
	return at
}

// cut divides the program's own memory at every offset that no block crosses. It returns the blocks of each section,
// sorted by offset.
func cut(blocks []*block) (together [][]*block) {
	var list []*block
	for _, b := range blocks {
		if b.at >= 0 && b.in == nil {
			list = append(list, b)
		}
	}
	slices.SortStableFunc(list, func(a, b *block) int { return cmp.Compare(a.at, b.at) })
	end := int64(0)
	for _, b := range list {
		if len(together) == 0 || b.at >= end {
			together = append(together, nil)
		}
		last := len(together) - 1
		together[last], end = append(together[last], b), max(end, b.end())
	}
	return together
}
