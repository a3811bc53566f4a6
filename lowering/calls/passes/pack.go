package passes

import (
	"cmp"
	"math"
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/align"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// mostAtOnce is how many buffers in use at a time are packed; the longest used of more keep their own memory. The time of packing is
// that of what is in use at a time.
const mostAtOnce = 512

// aligned is where a buffer may begin, from a byte on: buffers in one memory begin at multiples of what cudaMalloc aligns to.
func aligned(at int64) int64 { return (at + align.Buffer - 1) / align.Buffer * align.Buffer }

// block is the memory of a buffer, and of those that lie in it already; or an output, from its first result on.
type block struct {
	life    *order.Life
	buffers []*calls.Buffer
	bytes   int64
	fixed   bool     // it has to be where the program's own memory is, when the program starts
	in      *block   // the output that it lies in; nil: memory of the program's own
	at      int64    // its first byte there; -1: it is in none
	beside  []*block // of a room: what is in use while it is
}

func (b *block) end() int64 { return b.at + b.bytes }

// isRoom reports whether it is what an attention works in.
func (b *block) isRoom() bool { return b.life.Buffer.Works != "" }

// ofBuffers is how many bytes it has for buffers: a room none.
func (b *block) ofBuffers() int64 {
	if b.isRoom() {
		return 0
	}
	return b.bytes
}

// ownEnd is where it ends in the program's own memory.
func (b *block) ownEnd() int64 {
	if b.in != nil {
		return 0
	}
	return b.end()
}

// mostTries is how often blocks are placed with another one first.
const mostTries = 8

// pack places the blocks of the same ranks, given in the order in which their lives begin: those whose lives may overlap lie side by side,
// others may have the same bytes. From the largest to the smallest each goes to the first free bytes; before the program's
// own memory grows, to those of an output. Two choices are open, and which is better is not known when a block is placed:
//   - of outputs, the smallest one leaves large ones to large blocks, and the one that is written first leaves later ones to longer lives;
//   - the block that ends last did not fit below others: placed before them, it may, and they beside it.
//
// The first way that takes the least of the program's own memory is taken.
func pack(blocks []*block) {
	lives := make([]*order.Life, len(blocks))
	for i, b := range blocks {
		lives[i] = b.life
	}
	beside, apart := order.Beside(lives, mostAtOnce)
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
			if b.isRoom() {
				b.beside = append(b.beside, blocks[j])
			}
		}
	}
}

// kinds are the numbers of the blocks that are to be placed, and of outputs.
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

// lastFirst moves the block that ends last in the program's own memory to the front of a list. It reports whether it was elsewhere.
func lastFirst(blocks []*block, list []int) bool {
	last := slices.MaxFunc(list, func(i, j int) int { return cmp.Compare(blocks[i].ownEnd(), blocks[j].ownEnd()) })
	at := slices.Index(list, last)
	copy(list[1:], list[:at])
	list[0] = last
	return at > 0
}

// place places blocks, given by their numbers, in an order: from the first to the last each goes to the first free bytes, or, before the
// program's own memory grows, to those of the first output that has room. It gives the bytes of the program's own memory, and
// forgets where blocks were before.
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

// firstFree is where in a memory the first so many bytes begin that none of some blocks has.
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

// cut parts the program's own memory where no block has bytes on both sides, into lists in the order of their bytes.
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
