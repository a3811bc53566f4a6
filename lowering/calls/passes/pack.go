package passes

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// alignment is what cudaMalloc aligns to: buffers in one memory begin at multiples of it.
const alignment = 256

// mostAtOnce is how many buffers in use at a time are packed; the longest used of more keep their own memory. The time of packing is
// that of what is in use at a time.
const mostAtOnce = 512

// block is the memory of a buffer, and of those that lie in it already; or an output, from its first result on.
type block struct {
	life    *order.Life
	buffers []*calls.Buffer
	bytes   int64
	reached bool   // by other ranks
	in      *block // the output that it lies in; nil: memory of the program's own
	at      int64  // its first byte there; -1: it is in none
}

func (b *block) end() int64 { return b.at + b.bytes }

// pack places the blocks of the same ranks, given in the order in which their lives begin: those whose lives may overlap lie side by side,
// others may have the same bytes. From the largest to the smallest each goes to the first free bytes; before the program's
// own memory grows, to those of an output.
func pack(blocks []*block) {
	lives := make([]*order.Life, len(blocks))
	for i, b := range blocks {
		lives[i] = b.life
	}
	beside, apart := order.Beside(lives, mostAtOnce)
	var outputs, rest []int
	for i, b := range blocks {
		switch {
		case apart[i]:
		case b.life.Output:
			outputs = append(outputs, i)
			b.in, b.at = b, 0
		default:
			rest = append(rest, i)
		}
	}
	largest := func(i, j int) int { return cmp.Compare(blocks[j].bytes, blocks[i].bytes) }
	slices.SortStableFunc(rest, largest)
	slices.SortStableFunc(outputs, func(i, j int) int { return largest(j, i) }) // the smallest that has room
	own := int64(0)                                                             // bytes of the program's own memory
	for _, i := range rest {
		b := blocks[i]
		at := firstFree(blocks, beside[i], nil, b.bytes)
		for _, o := range outputs {
			if room := blocks[o]; at+b.bytes > own && !b.reached {
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
		at = max(at, (b.end()+alignment-1)/alignment*alignment)
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
