package verify

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
)

// memory checks buffers and workspaces. A workspace may not be in use by another stream when a statement uses it. A
// buffer inside other memory has to fit into it. If two buffers have common bytes, the last use of one has to end
// before the first use of the other, unless one is written over the other (writtenOver).
func (v *verifier) memory() {
	if s := order.Clash(v.program, nil); s != nil {
		v.fail(s, "its workspace may be in use")
	}
	all := slices.Concat(v.program.Buffers, v.program.Outputs())
	values, known := v.program.Values(), calls.ByName(all)
	shared, reached, own := map[string]bool{}, v.program.Reached(), calls.ByName(v.program.Buffers)
	for _, b := range v.program.Buffers {
		if b.In == "" {
			continue
		}
		in := known[b.In]
		if in == nil || in.In != "" || in.Guard != b.Guard {
			v.buffer(b, "it is not in the memory of a buffer that the same ranks have")
			continue
		}
		if reached[b.Name] && own[b.In] == nil {
			v.buffer(b, "other ranks reach it, and %s is the caller's memory", in.Name)
		}
		if size, ok := bytes(b, values); ok {
			if room, ok := bytes(in, values); ok && room < b.Offset+size {
				v.buffer(b, "%s has %d bytes, and it needs %d", in.Name, room, b.Offset+size)
			}
		}
		if b.Offset < 0 || b.Offset%alignment != 0 {
			v.buffer(b, "it begins %d bytes behind %s, which is no multiple of %d", b.Offset, in.Name, alignment)
		}
		shared[b.Name], shared[in.Name] = true, !in.Arena
	}
	if len(shared) == 0 {
		return
	}
	lifetimes := map[string][]*order.Lifetime{}
	for _, life := range order.Lifetimes(v.program) {
		b := life.Buffer
		if !shared[b.Name] {
			continue
		}
		delete(shared, b.Name)
		memory := b.Name
		if b.In != "" {
			memory = b.In
		}
		lifetimes[memory] = append(lifetimes[memory], life)
	}
	v.occupants(lifetimes, values)
	for _, b := range all {
		if shared[b.Name] {
			v.buffer(b, "it has the memory of another buffer, and other calls may use it")
		}
	}
}

// alignment is the alignment in bytes of buffers inside other memory, because kernels access several bytes at once.
const alignment = 256

// occupants checks the buffers of each memory. If the lifetimes of two buffers may overlap, the buffers must have no
// common byte, or one must be written over the other.
func (v *verifier) occupants(lifetimes map[string][]*order.Lifetime, values calls.Values) {
	var uses *order.Uses
	for _, memory := range slices.Sorted(maps.Keys(lifetimes)) {
		list := lifetimes[memory]
		beside, _ := order.Beside(list, len(list))
		for i, life := range list {
			b := life.Buffer
			for _, j := range beside[i] {
				before := list[j].Buffer
				if j > i || !common(b, before, values) {
					continue
				}
				if uses == nil {
					uses = order.UsesOf(v.program)
				}
				if !writtenOver(uses, life, list[j]) && !writtenOver(uses, list[j], life) {
					v.buffer(b, "%s, in the same memory, may still be in use", before.Name)
					break
				}
			}
		}
	}
}

// writtenOver reports whether the buffer of life is written over the other buffer in place (order.Uses.InPlace). This
// means that, for each common byte, the last use of other has ended, or it is in the task that overwrites the byte. An
// output is never overwritten.
func writtenOver(uses *order.Uses, life, other *order.Lifetime) bool {
	return !other.Output && uses.InPlace(life.Buffer, other.Buffer)
}

// common reports whether two buffers in one memory have a byte in common, or may have one because a size is unknown.
func common(a, b *calls.Buffer, values calls.Values) bool {
	ofA, okA := bytes(a, values)
	ofB, okB := bytes(b, values)
	return !okA || !okB || a.Offset < b.Offset+ofB && b.Offset < a.Offset+ofA
}

// bytes returns the size of a buffer in bytes. ok is false if the size is unknown.
func bytes(b *calls.Buffer, values calls.Values) (size int64, ok bool) {
	elements, ok := values.Eval(b.Elements)
	return elements * b.Type.Size(), ok
}
