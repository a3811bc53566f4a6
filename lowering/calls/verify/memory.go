package verify

import (
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// memory checks that a buffer in the memory of another one fits into it, and that of all buffers in
// one memory each is done with before the next one is used.
func (v *verifier) memory() {
	values, known := v.program.Values(), calls.ByName(v.program.Buffers)
	shared := map[string]bool{}
	for _, b := range v.program.Buffers {
		if b.In == "" {
			continue
		}
		in := known[b.In]
		if in == nil || in.In != "" || in.Type != b.Type || in.Guard != b.Guard {
			v.buffer(b, "it is not in the memory of a buffer of its type")
			continue
		}
		if size, ok := values.Eval(b.Elements); ok {
			if room, ok := values.Eval(in.Elements); ok && room < size {
				v.buffer(b, "%s has %d elements, and it needs %d", in.Name, room, size)
			}
		}
		shared[b.Name], shared[in.Name] = true, true
	}
	if len(shared) == 0 {
		return
	}
	last := map[string]*order.Life{}
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
		if before := last[memory]; before != nil && !before.Before(life) {
			v.buffer(b, "%s, in the same memory, may still be in use", before.Buffer.Name)
		}
		last[memory] = life
	}
	for _, b := range v.program.Buffers {
		if shared[b.Name] {
			v.buffer(b, "it has the memory of another buffer, and other ranks or other calls may use it")
		}
	}
}
