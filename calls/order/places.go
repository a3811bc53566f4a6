package order

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// places resolves pointers to the program's buffers and to outputs.
type places struct{ buffers map[string]*calls.Buffer }

// place is the target of a pointer: an offset in bytes in a buffer. The buffer is nil if there is none.
type place struct {
	buffer *calls.Buffer
	from   int64 // offset of the first pointer in a chain of declared pointers
	offset int64
}

func placesOf(p *calls.Program) *places {
	return &places{calls.ByName(slices.Concat(p.Buffers, p.Outputs()))}
}

// at resolves a pointer. The place has no buffer if the pointer is to memory of a peer, or to no buffer or output.
func (l *places) at(o *Ordering, p calls.Pointer) place {
	at, _ := o.walk.At(nil, p)
	if at.Of == nil || at.Share >= 0 {
		return place{}
	}
	return place{l.buffers[at.Of.Name], at.From - at.Of.First, at.Offset - at.Of.First}
}
