package order

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
)

// Uses lists the bytes of the program's buffers and outputs that each task accesses, on every rank.
type Uses struct {
	program *calls.Program
	effects *effects.Table
	places  *places
	values  calls.Values
	of      map[string]map[int64][]use // by buffer and rank, in the order of issue
	over    []Overwrite
	noted   map[Overwrite]bool
	tasks   int
}

// Overwrite is a task's result that could be written over one of the task's operands. Both buffers have the same size
// in bytes and the same element type, and exist on the same ranks.
type Overwrite struct{ Result, Operand *calls.Buffer }

// use is an access of a task to the bytes first to end of a buffer.
type use struct {
	task         int
	from         int64 // offset in bytes of the first pointer in the chain of declared pointers to the operand
	first, end   int64
	alike        bool // effects.Operand.Alike
	behind, done Clock
}

// UsesOf issues a program on every rank, and collects the accesses.
func UsesOf(p *calls.Program) *Uses {
	u := &Uses{
		program: p, effects: effects.New(p), places: placesOf(p), values: p.Values(), of: map[string]map[int64][]use{},
		noted: map[Overwrite]bool{},
	}
	o := New(p)
	o.signals = newSignals()
	o.task = func(s calls.Stmt, rank int64, behind, done Clock) { u.note(o, s, rank, behind, done) }
	for _, rank := range p.Ranks() { // the offsets of slices may differ on each rank
		o.run(rank)
	}
	return u
}

// Overwrites lists the results that a single task could write in place, in the order of issue.
func (u *Uses) Overwrites() []Overwrite { return u.over }

// InPlace reports whether two buffers may share memory at their current offsets. For each common byte, all uses of
// other have to end before the uses of b begin. One task may also read an element through other and then write the same
// element through b.
func (u *Uses) InPlace(b, other *calls.Buffer) bool {
	behind := b.Offset - other.Offset
	for rank, list := range u.of[b.Name] {
		for _, later := range list {
			later.first, later.end = later.first+behind, later.end+behind
			for _, before := range u.of[other.Name][rank] {
				if !before.leaves(&later) {
					return false
				}
			}
		}
	}
	return true
}

// SliceBySlice reports whether each rank uses the slices of a buffer one after the other, and accesses each slice only
// through pointers that begin at its first byte. bytes is the size of a slice.
func (u *Uses) SliceBySlice(b *calls.Buffer, bytes int64) bool {
	for _, list := range u.of[b.Name] {
		done, slice := map[int64]bool{}, list[0].from/bytes
		var before, end Clock // of all earlier slices, and of the current one
		for _, use := range list {
			if use.from%bytes != 0 || use.first < use.from || use.end > use.from+bytes {
				return false
			}
			if next := use.from / bytes; next != slice {
				done[slice] = true
				slice, before, end = next, before.Merged(end), nil
			}
			if done[slice] || !use.behind.Covers(before) {
				return false
			}
			end = end.Merged(use.done)
		}
	}
	return true
}

// ReadsEarlier reports whether each task that reads the buffer passed may run as early as the task that wrote what it
// reads. The uses of passed have to alternate on every rank: a task writes some bytes, and the next task reads them.
// others are the buffers that only the readers use. If a use of these buffers ends before a reader begins, it has to end
// before the writer begins, too. Inputs and accesses by peers are not among the uses; the proof covers these.
func (u *Uses) ReadsEarlier(passed string, others ...string) bool {
	for rank, list := range u.of[passed] {
		if len(list)%2 != 0 {
			return false
		}
		for pair := range slices.Chunk(list, 2) {
			writer, reader := pair[0], pair[1]
			if writer.first != reader.first || writer.end != reader.end {
				return false
			}
			for _, name := range others {
				for _, use := range u.of[name][rank] {
					if use.task != reader.task && reader.behind.Covers(use.done) && !writer.behind.Covers(use.done) {
						return false
					}
				}
			}
		}
	}
	return true
}

// leaves reports whether a later use is ordered after this use, or does not conflict with it.
func (u *use) leaves(later *use) bool {
	if u.end <= later.first || later.end <= u.first {
		return true
	}
	if u.task == later.task {
		return u.alike && later.alike && u.first == later.first && u.end == later.end
	}
	return later.behind.Covers(u.done)
}

// note adds the accesses of a task to buffers and outputs.
func (u *Uses) note(o *Ordering, s calls.Stmt, rank int64, behind, done Clock) {
	u.tasks++
	add := func(b *calls.Buffer, from, first, end int64, alike bool) {
		if !u.program.Has(b, rank) {
			return
		}
		if u.of[b.Name] == nil {
			u.of[b.Name] = map[int64][]use{}
		}
		u.of[b.Name][rank] = append(u.of[b.Name][rank], use{u.tasks, from, first, end, alike, behind, done})
	}
	var result *calls.Buffer
	for i, operand := range u.operandsOf(s, o.walk) {
		at := u.places.at(o, operand.at)
		switch {
		case at.buffer == nil:
			continue
		case operand.bytes < 0:
			add(at.buffer, 0, 0, u.bytes(at.buffer), false)
			continue
		}
		add(at.buffer, at.from, at.offset, at.offset+operand.bytes, operand.alike)
		if i == 0 && operand.alike {
			result = at.buffer
		} else if result != nil && operand.alike {
			u.offer(Overwrite{result, at.buffer})
		}
	}
	for _, name := range owned(u.program, s) {
		if b := u.places.buffers[name]; b != nil {
			add(b, 0, 0, u.bytes(b), false)
		}
	}
}

// bytes returns the size of a buffer in bytes.
func (u *Uses) bytes(b *calls.Buffer) int64 {
	elements, _ := u.values.Eval(b.Elements)
	return elements * b.Type.Size()
}

// offer records that a result could be written over an operand, if both have the same guard, element type and size.
func (u *Uses) offer(o Overwrite) {
	if u.noted[o] || o.Result == o.Operand || o.Result.Guard != o.Operand.Guard || o.Result.Type != o.Operand.Type {
		return
	}
	if u.bytes(o.Result) == u.bytes(o.Operand) {
		u.noted[o] = true
		u.over = append(u.over, o)
	}
}
