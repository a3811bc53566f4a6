package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// fit reports whether, on every rank, all transfers move parts of the same size, and the kernel reads whole parts. If a
// kernel reads the parts, the local part has to be copied once to its slot, or to be in its slot already.
func (m *exchangeMaker) fit(parts []int, l *calls.Launch, k *calls.Kernel) bool {
	rows, known := m.values.Eval(l.Elements)
	transfers, counted := m.values.Eval(m.share.Transfers)
	if !known || !counted || m.share.Mesh != "" || int(transfers) != len(m.ranks) {
		return false
	}
	moved := m.list(parts)
	m.own, m.through = ownPart(moved), false
	for n, rank := range m.ranks {
		f := &fitting{Rank: rank, reads: l, kernel: k, part: rows * k.Columns, in: m.in, own: m.own, inSlot: true, well: true}
		f.bytes = f.part * m.share.Type.Size()
		f.Run(moved, f.visit)
		if m.at >= 0 {
			f.Run(m.p.Body[m.at:m.at+1], f.visit)
		}
		through := f.inSlot && f.keeps == 1
		if !f.well || f.keeps > 1 || f.sends != len(m.ranks)-1 || f.touches && !f.inSlot || m.at >= 0 && f.keeps == 0 && !f.inSlot ||
			n > 0 && through != m.through {
			return false
		}
		if m.through = through; !f.named {
			m.own = nil
		}
	}
	local := localNames(moved)
	for keep := range calls.Each[*calls.Memcpy](moved) {
		if m.through && has(local, keep.In) {
			return false
		}
	}
	return true
}

// fitting checks the copies of one rank, and the parts that its kernel reads.
type fitting struct {
	*issue.Rank
	reads        *calls.Launch // the kernel, with its rows as Elements; without operands if there is none
	kernel       *calls.Kernel
	in           func(name string) bool // reports whether a name refers to the memory with the parts
	part, bytes  int64                  // size of a part in elements and in bytes
	slot         *issue.Place           // the slot of this rank's part, the same in the memory of all ranks; nil: unknown so far
	own          *calls.Pointer         // where the local part may be; nil: unknown
	named        bool                   // the local part is at own
	sends, keeps int
	inSlot       bool // all transfers of the rank read its own slot
	touches      bool // some transfer reads bytes that overlap this slot
	well         bool
}

func (f *fitting) visit(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.MemOpBatch:
		f.Run(s.Body, f.visit)
	case *calls.Transfer:
		f.sends++
		from := f.moves(s, s.Out, s.In, s.Elements)
		behind := from.Offset - f.slot.Offset
		f.inSlot = f.inSlot && from.Memory == f.slot.Memory && behind == 0
		f.touches = f.touches || from.Memory == f.slot.Memory && -f.bytes < behind && behind < f.bytes
	case *calls.Memcpy:
		f.keeps++
		from := f.moves(s, s.Out, s.In, s.Elements)
		if f.own != nil {
			own, there := f.At(s, *f.own)
			f.named = there && own.Memory == from.Memory && own.Offset == from.Offset
		}
	case *calls.Launch:
		f.well = f.well && !f.in(f.reads.Out.At.Base)
		for i, o := range f.reads.In {
			if place, there := f.At(s, o.At); f.in(o.At.Base) {
				f.well = f.well && there && i+1 >= int(f.kernel.Results) && f.kernel.Uses[i+1] == calls.ForElement && place.Offset%f.bytes == 0
			}
		}
	}
}

// moves checks a copy of the rank's part, and returns its source. All copies have to go to the same slot.
func (f *fitting) moves(s calls.Stmt, out, in calls.Pointer, elements expr.Expr) issue.Place {
	n, _ := f.Value(s, elements)
	to, there := f.At(s, out)
	source, here := f.At(s, in)
	f.well = f.well && there && here && n == f.part && (len(f.reads.In) == 0 || to.Offset%f.bytes == 0) &&
		(f.slot == nil || f.slot.Memory == to.Memory && f.slot.Offset == to.Offset)
	f.slot = &to
	return source
}
