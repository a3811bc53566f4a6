package order

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// places resolves pointers to the program's buffers and to outputs.
type places struct{ buffers map[string]*calls.Buffer }

// place is the target of a pointer: an offset in bytes in a buffer. buffer is nil if the target is not in a buffer or
// an output.
type place struct {
	buffer *calls.Buffer
	from   int64 // offset in bytes of the first pointer in a chain of declared pointers
	offset int64
}

func placesOf(p *calls.Program) *places {
	return &places{calls.ByName(slices.Concat(p.Buffers, p.Outputs()))}
}

// at resolves a pointer. The place has no buffer if the pointer is to memory of a peer, or not to a buffer or an
// output.
func (l *places) at(o *Ordering, p calls.Pointer) place {
	at, _ := o.walk.At(nil, p)
	if at.Of == nil || at.Share >= 0 {
		return place{}
	}
	return place{l.buffers[at.Of.Name], at.From - at.Of.First, at.Offset - at.Of.First}
}
