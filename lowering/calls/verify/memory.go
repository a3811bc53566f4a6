package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// memory checks that nothing else works in the workspace of a statement, that a buffer in the memory of another one fits into it, and that of all buffers in
// one memory each is done with before the next one is used, or is written over it.
func (v *verifier) memory() {
	if s := order.Clash(v.program, nil); s != nil {
		v.fail(s, "its workspace may be in use")
	}
	values, known := v.program.Values(), calls.ByName(v.program.Buffers)
	shared := map[string]bool{}
	for _, b := range v.program.Buffers {
		if b.In == "" {
			continue
		}
		in := known[b.In]
		if in == nil || in.In != "" || in.Guard != b.Guard {
			v.buffer(b, "it is not in the memory of a buffer that the same ranks have")
			continue
		}
		if size, ok := bytes(b, values); ok {
			if room, ok := bytes(in, values); ok && room < size {
				v.buffer(b, "%s has %d bytes, and it needs %d", in.Name, room, size)
			}
		}
		shared[b.Name], shared[in.Name] = true, true
	}
	if len(shared) == 0 {
		return
	}
	memories := map[string]*occupants{}
	var uses *order.Uses
	inPlace := func(b, other *calls.Buffer) bool {
		if uses == nil {
			uses = order.UsesOf(v.program)
		}
		return uses.InPlace(b, other)
	}
	for _, life := range order.Lives(v.program) {
		b := life.Buffer
		if !shared[b.Name] {
			continue
		}
		delete(shared, b.Name)
		memory := b.Name
		if b.In != "" {
			memory = b.In
		}
		if memories[memory] == nil {
			memories[memory] = &occupants{}
		}
		if in := memories[memory].add(life, inPlace); in != nil {
			v.buffer(b, "%s, in the same memory, may still be in use", in.Name)
		}
	}
	for _, b := range v.program.Buffers {
		if shared[b.Name] {
			v.buffer(b, "it has the memory of another buffer, and other calls may use it")
		}
	}
}

// occupants are the buffers in one memory, as they begin.
type occupants struct {
	lives []*order.Life
	alone []bool // it begins when all before it are done
}

// add adds a life to those that begin earlier. It gives a buffer that may be in use meanwhile, where the new one is not written in place.
func (o *occupants) add(life *order.Life, inPlace func(b, other *calls.Buffer) bool) (inUse *calls.Buffer) {
	alone := true
	for i, before := range slices.Backward(o.lives) {
		if before.Before(life) {
			if o.alone[i] {
				break
			}
			continue
		}
		if alone = false; !inPlace(life.Buffer, before.Buffer) {
			inUse = before.Buffer
		}
	}
	o.lives, o.alone = append(o.lives, life), append(o.alone, alone)
	return inUse
}

// bytes is the size of a buffer.
func bytes(b *calls.Buffer, values calls.Values) (size int64, ok bool) {
	elements, ok := values.Eval(b.Elements)
	return elements * b.Type.Size(), ok
}
