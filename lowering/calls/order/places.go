package order

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
)

// places follows pointers of one rank to the program's own buffers and to outputs.
type places struct {
	buffers map[string]*calls.Buffer
	named   map[string]place // pointers that statements declared
}

// place is where a pointer leads: so many bytes behind the start of a buffer; nil: to none.
type place struct {
	buffer *calls.Buffer
	from   int64 // where the first of the pointers on the way leads
	offset int64
}

func placesOf(p *calls.Program) *places {
	return &places{buffers: calls.ByName(slices.Concat(p.Buffers, p.Outputs())), named: map[string]place{}}
}

// declare follows a pointer that a statement names.
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
