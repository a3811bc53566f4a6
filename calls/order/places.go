package order

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// places resolves pointers of one rank to the program's buffers and to outputs.
type places struct {
	buffers map[string]*calls.Buffer
	named   map[string]place // pointers that statements declared
}

// place is the target of a pointer: an offset in a buffer; nil: none.
type place struct {
	buffer *calls.Buffer
	from   int64 // offset of the first of the pointers on the way
	offset int64
}

func placesOf(p *calls.Program) *places {
	return &places{buffers: calls.ByName(slices.Concat(p.Buffers, p.Outputs())), named: map[string]place{}}
}

// declare records the target of a declared pointer.
func (l *places) declare(o *Ordering, d *calls.Declare) {
	from := d.Value
	if d.Cond != nil {
		if holds, _ := o.walk.Env.Eval(d.Cond); holds == 0 {
			from = d.Else
		}
	}
	l.named[d.Name] = l.at(o, from)
}

// at resolves a pointer.
func (l *places) at(o *Ordering, p calls.Pointer) place {
	at, ok := l.named[p.Base]
	if !ok {
		at.buffer = l.buffers[p.Base]
	}
	if at.buffer == nil || p.Peer != nil {
		return place{}
	}
	if p.Offset != nil {
		offset, _ := o.walk.Env.Eval(p.Offset)
		at.offset += offset * at.buffer.Type.Size()
	}
	if !ok {
		at.from = at.offset
	}
	return at
}
