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
	m.alike, m.through = true, false
	for n, rank := range m.p.Ranks() {
		f := &fitting{Rank: world.Rank(int32(rank)), inside: inside, reads: l, kernel: k, of: m.of, alike: true, inSlot: true, well: true}
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
		m.alike, m.through = m.alike && f.alike, through
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
	from, slot   *issue.Place    // a part that the rank sends, and the place of its parts in the memory of ranks; nil: nothing so far
	sends, keeps int
	alike        bool // all copies are of the same part
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
			f.moves(s, s.Out, s.In, s.Elements)
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
	f.alike = f.alike && (f.from == nil || *f.from == source)
	f.well = f.well && there && here && n == f.part && (f.launch == nil || to.Offset%f.bytes == 0) &&
		(f.slot == nil || f.slot.Memory == to.Memory && f.slot.Offset == to.Offset)
	f.from, f.slot = &source, &to
	return source
}
