package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// fit reports whether, on every rank, all transfers move parts of the same size, and the kernel reads whole parts. The own part is
// copied once to its place among the others, or is there, or no kernel reads it.
func (m *exchangeMaker) fit(share *calls.Share, parts []int, l *calls.Launch, k *calls.Kernel) bool {
	values := m.p.Values()
	rows, known := values.Eval(l.Elements)
	ranks, counted := values.Eval(share.Transfers)
	if !known || !counted || ranks > mostExchanging || share.Mesh != "" || int(ranks) != len(m.p.Ranks()) {
		return false
	}
	inside, moved := map[calls.Stmt]bool{}, []calls.Stmt{}
	for _, i := range parts {
		for s := range calls.All(m.p.Body[i : i+1]) {
			inside[s], moved = true, append(moved, s)
		}
	}
	world := issue.New(m.p, nil)
	m.own, m.through = ownPart(moved), false
	for n, rank := range m.p.Ranks() {
		f := &fitting{Rank: world.Rank(int32(rank)), inside: inside, reads: l, kernel: k, of: m.of, own: m.own, inSlot: true, well: true}
		if m.at >= 0 {
			f.launch = m.p.Body[m.at]
		}
		f.part = rows * k.Columns
		f.bytes = f.part * share.Type.Size()
		f.Run(m.p.Body, f.visit)
		through := f.inSlot && f.keeps == 1
		if !f.well || f.keeps > 1 || f.sends != int(ranks)-1 || f.touches && !f.inSlot || m.at >= 0 && f.keeps == 0 && !f.inSlot ||
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

// fitting compares the rows that one rank copies with those that its kernel reads.
type fitting struct {
	*issue.Rank
	inside       map[calls.Stmt]bool // the statements that move rows
	launch       calls.Stmt          // the kernel in the program; nil: there is none
	reads        *calls.Launch       // the same kernel, by rows
	kernel       *calls.Kernel
	of           map[string]bool // names of the memory with the parts
	part, bytes  int64           // elements and bytes of a part
	slot         *issue.Place    // the place of the rank's parts in the memory of all ranks; nil: nothing so far
	own          *calls.Pointer  // where the own part may be; nil: unknown
	named        bool            // it is there
	sends, keeps int
	inSlot       bool // the rank sends what is in its own slot
	touches      bool // it sends bytes in this slot
	well         bool
}

func (f *fitting) visit(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.MemOpBatch:
		f.Run(s.Body, f.visit)
	case *calls.Transfer:
		if f.inside[s] {
			f.sends++
			from := f.moves(s, s.Out, s.In, s.Elements)
			behind := from.Offset - f.slot.Offset
			f.inSlot = f.inSlot && from.Memory == f.slot.Memory && behind == 0
			f.touches = f.touches || from.Memory == f.slot.Memory && -f.bytes < behind && behind < f.bytes
		}
	case *calls.Memcpy:
		if f.inside[s] {
			f.keeps++
			from := f.moves(s, s.Out, s.In, s.Elements)
			if f.own != nil {
				own, there := f.At(s, *f.own)
				f.named = there && own.Memory == from.Memory && own.Offset == from.Offset
			}
		}
	case *calls.Launch:
		if calls.Stmt(s) == f.launch {
			f.well = f.well && !f.of[f.reads.Out.At.Base]
			for i, o := range f.reads.In {
				if place, there := f.At(s, o.At); f.of[o.At.Base] {
					f.well = f.well && there && i+1 >= int(f.kernel.Results) && f.kernel.Uses[i+1] == calls.ForElement && place.Offset%f.bytes == 0
				}
			}
		}
	}
}

// moves checks a copy of a part, and returns its source. The parts of one rank are at the same place on all ranks.
func (f *fitting) moves(s calls.Stmt, out, in calls.Pointer, elements expr.Expr) issue.Place {
	n, _ := f.Value(s, elements)
	to, there := f.At(s, out)
	source, here := f.At(s, in)
	f.well = f.well && there && here && n == f.part && (f.launch == nil || to.Offset%f.bytes == 0) &&
		(f.slot == nil || f.slot.Memory == to.Memory && f.slot.Offset == to.Offset)
	f.slot = &to
	return source
}
