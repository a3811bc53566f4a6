package emit

import (
	"cmp"
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// This file spells where the memory of buffers is, and how long they live.

// neighbours maps a buffer in the memory of another buffer to an earlier buffer there that ends where this buffer
// begins. Of several, it prefers one with the same last statement as this buffer, and takes the scratch memory of an
// attention only if there is no other. Scratch memory itself has no neighbour.
func neighbours(p *calls.Program) map[string]*calls.Buffer {
	type place struct {
		in string
		at int64
	}
	values, ending, behind := p.Values(), map[place][]*calls.Buffer{}, map[string]*calls.Buffer{}
	note := func(b *calls.Buffer) {
		if elements, ok := values.Eval(b.Elements); ok {
			at := place{b.In, b.Offset + elements*b.Type.Size()}
			ending[at] = append(ending[at], b)
		}
	}
	for _, b := range scratchOf(p.Buffers) {
		note(b)
	}
	for _, b := range p.Buffers {
		if b.In == "" || b.Works != "" {
			continue
		}
		for _, before := range ending[place{b.In, b.Offset}] {
			if old := behind[b.Name]; old == nil || old.Works != "" || old.Last != b.Last {
				behind[b.Name] = before
			}
		}
		note(b)
	}
	return behind
}

// end is the key of a buffer: its separate memory, its byte offset there, and the label of the last statement that uses
// it.
type end struct {
	in, last string
	offset   int64
}

// endOf returns the key of a buffer.
func endOf(b *calls.Buffer) end {
	return end{cmp.Or(b.In, b.Name), b.Last, b.Offset}
}

// ends groups buffers by their keys, in their order. It leaves out buffers that no statement uses.
func ends(list []*calls.Buffer) map[end][]*calls.Buffer {
	found := map[end][]*calls.Buffer{}
	for _, b := range list {
		if b.Last != "" {
			found[endOf(b)] = append(found[endOf(b)], b)
		}
	}
	return found
}

// memory prints the pointer of a buffer in another buffer's memory. The pointer is the end of a neighbour there, or an
// offset from the start of that memory.
func (s *speller) memory(b *calls.Buffer) string {
	at, in := s.start(b)
	if in.Type == b.Type {
		return at
	}
	return fmt.Sprintf("reinterpret_cast<%s*>(%s)", alias(b.Type), at)
}

// lives prints a comment on a buffer: its shape and, if From is set, the communication that fills it. If other buffers
// have the same memory, the comment also has the labels of the first and the last statement that use the buffer, and
// the buffer that it overwrites. For separate memory that only contains other buffers, it prints no shape.
func (s *speller) lives(b *calls.Buffer) string {
	shape, place := brackets(b.Shape), ""
	begin := endOf(b)
	begin.last = b.First
	for _, other := range s.ends[begin] {
		if other != b {
			place = " (overwrites " + other.Name + ")"
		}
	}
	if b.From != "" {
		shape += ", filled by the " + commentWord(b.From)
	}
	switch {
	case b.Arena && b.In == "":
		return "for the buffers below"
	case b.First == "":
		return shape
	case b.First == b.Last:
		return shape + ", in " + b.First + place
	default:
		return shape + ", " + b.First + place + " to " + b.Last
	}
}

// start prints the pointer of a buffer without the cast, and returns the buffer whose element type this pointer has.
func (s *speller) start(b *calls.Buffer) (at string, in *calls.Buffer) {
	at, in = b.In, s.buffers[b.In]
	before := s.behind[b.Name]
	switch {
	case before == nil:
	case before.Works == "":
		return before.Name + " + " + spell(before.Elements), before
	case before.Offset == 0 && in.Type == before.Type:
		return at + " + " + scratchName(before), in
	case before.Offset == 0 && before.Type.Size()%in.Type.Size() == 0:
		return fmt.Sprintf("%s + %s * sizeof(float) / sizeof(%s)", at, scratchName(before), alias(in.Type)), in
	}
	if b.Offset > 0 {
		at += fmt.Sprintf(" + %d", b.Offset/in.Type.Size())
	}
	return at, in
}

// scratchOf returns the buffers that are scratch memory of attentions.
func scratchOf(list []*calls.Buffer) []*calls.Buffer {
	return lists.Except(list, func(b *calls.Buffer) bool { return b.Works == "" })
}

// scratchName returns the name of the constant that counts the elements of an attention's scratch memory.
func scratchName(b *calls.Buffer) string { return b.Works + "Scratch" }

// scratchSize prints a comment on the size of an attention's scratch memory.
func (s *speller) scratchSize(b *calls.Buffer) string {
	_, purpose := s.attentions[b.Works].ScratchElements(s.values)
	if _, literal := b.Elements.(expr.Int); literal {
		purpose = "all that is free during the attention"
	}
	return "scratch memory in fp32 elements, " + purpose
}
