package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// fit reports whether, on every rank, all transfers move the same rows, and the kernel reads whole parts of these rows. The own part is
// copied once to its place among the others, or is there.
func (m *exchangeMaker) fit(share *calls.Share, parts []int, l *calls.Launch, k *calls.Kernel) bool {
	values := m.p.Values()
	rows, known := values.Eval(l.Elements)
	ranks, counted := values.Eval(share.Transfers)
	if !known || !counted || ranks > mostExchanging || share.Mesh != "" || int(ranks) != len(m.p.Ranks()) {
		return false
	}
	inside := map[calls.Stmt]bool{}
	for _, i := range parts {
		for s := range calls.All(m.p.Body[i : i+1]) {
			inside[s] = true
		}
	}
	world := issue.New(m.p, nil)
	for _, rank := range m.p.Ranks() {
		f := &fitting{Rank: world.Rank(int32(rank)), inside: inside, launch: m.p.Body[m.at], reads: l, kernel: k, of: m.of}
		f.part = rows * k.Columns
		f.bytes, f.well = f.part*share.Type.Size(), true
		f.Run(m.p.Body, f.visit)
		if !f.well || f.keeps > 1 || f.keeps == 0 && !f.inPlace || f.sends != int(ranks)-1 {
			return false
		}
	}
	return true
}

// fitting compares the rows that one rank copies with those that its kernel reads.
type fitting struct {
	*issue.Rank
	inside       map[calls.Stmt]bool // the statements that move rows
	launch       calls.Stmt          // the kernel in the program
	reads        *calls.Launch       // the same kernel, by rows
	kernel       *calls.Kernel
	of           map[string]bool // names of the memory with the parts
	part, bytes  int64           // elements and bytes of a part
	from         *issue.Place    // what the rank sends; nil: nothing so far
	to           int64           // its place in the memory with the parts
	sends, keeps int
	inPlace      bool // the own part is where it is read
	well         bool
}

func (f *fitting) visit(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.MemOpBatch:
		f.Run(s.Body, f.visit)
	case *calls.Transfer:
		if f.inside[s] {
			f.sends++
			f.moves(s, s.Out, s.In, s.Elements)
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

// moves checks a copy of rows: from the same place as the others, to the same part.
func (f *fitting) moves(s calls.Stmt, out, in calls.Pointer, elements expr.Expr) {
	n, _ := f.Value(s, elements)
	to, there := f.At(s, out)
	source, here := f.At(s, in)
	same := f.from == nil || *f.from == source && f.to == to.Offset
	f.well = f.well && there && here && same && n == f.part && to.Offset%f.bytes == 0
	f.from, f.to, f.inPlace = &source, to.Offset, source.Memory == to.Memory && source.Offset == to.Offset
}
