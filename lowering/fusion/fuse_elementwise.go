package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// FuseElementwise makes one statement, and so one kernel, of operations that work element by element or
// fold rows, where what is between them has one reader (kernels: fused):
//
//	G = Unary(silu, Zg)          A = Fused(silu_mul, Zg, Zu): G = silu(Zg), A = mul(G, Zu)
//	A = Binary(mul, G, Zu)
//
// It requires whole tensors, each statement local or one movement, and leaves no buffer for what is
// between. That pays always: an operand is read as often as before or less, and what is between is
// neither written nor read. It needs one walk over rows: every tensor lies row-major, only the last axis is
// folded, and axes that run along with each other are of one kind, so that a pipeline cuts all alike. A
// kernel may end in a concat of rows, and counts positions itself where no pipeline cuts them. What others read behind
// it is a further result, and kernels that read a value made for both, or the same operand, are one (merge.go).
func FuseElementwise(p *hostir.Program) error {
	if p.Choices.Get(schedule.Kernels) != schedule.Fused {
		return nil
	}
	f := &fuser{
		program: p, apart: map[hostir.Stmt]bool{}, alone: map[hostir.Stmt]bool{}, whole: map[string]string{},
		place: map[hostir.Stmt]int{}, maker: map[*hostir.Tensor]hostir.Stmt{},
	}
	for i, s := range p.Body {
		f.place[s] = i
		for _, t := range hostir.Defs(s) {
			f.maker[t] = s
		}
	}
	f.foldNarrow()
	for _, ref := range p.Reference {
		f.whole[ref.Out] = ref.Whole
	}
	for f.group(); f.separate() || f.part(); {
		f.group()
	}
	for _, t := range p.Tensors {
		f.mergeReaders(t)
	}
	f.findPositions()
	f.rewrite()
	return nil
}

type fuser struct {
	program *hostir.Program
	whole   map[string]string    // of a tensor of the model: the operation that it is a part of, as the spec has it
	apart   map[hostir.Stmt]bool // in no kernel
	alone   map[hostir.Stmt]bool // whose groups are not merged
	readers map[*hostir.Tensor][]hostir.Stmt
	groups  map[hostir.Stmt]*kernelGroup
	counts  map[*hostir.Tensor]counted
	place   map[hostir.Stmt]int // in the program
	maker   map[*hostir.Tensor]hostir.Stmt
}

// counted is a tensor whose elements are their positions along an axis, from the last one.
type counted struct {
	name string
	back int
}

// kernelGroup is statements that may be one kernel, in the order of the program; the last one makes
// its result.
type kernelGroup struct {
	place   int // of the kernel: in front of all that read its results
	members []hostir.Stmt
	also    map[hostir.Stmt]bool    // whose results others read, too
	columns domain.Axis             // that rows run along; no extent while all have one element for a row
	folded  map[*hostir.Tensor]bool // lacks the axis of the columns
}

func (g *kernelGroup) result() hostir.Stmt { return g.members[len(g.members)-1] }

// group gives each statement that can be part of a kernel to the group of its readers or, where they are
// of several or of none, to one that it ends.
func (f *fuser) group() {
	f.readers, f.groups = map[*hostir.Tensor][]hostir.Stmt{}, map[hostir.Stmt]*kernelGroup{}
	for i, s := range slices.Backward(f.program.Body) {
		if rowWise(s) && !f.apart[s] {
			g := f.groupOfReaders(s)
			if _, view := s.(*hostir.Broadcast); g == nil && !view {
				_, folds := s.(*hostir.Reduce)
				g = &kernelGroup{place: i, folded: map[*hostir.Tensor]bool{hostir.Result(s): folds}, also: map[hostir.Stmt]bool{}}
			}
			if g != nil {
				g.members = slices.Insert(g.members, 0, s)
				f.groups[s] = g
				if c := g.columnsOf(s); c.Extent.Size > 1 {
					g.columns = c
				}
			}
		}
		for _, t := range hostir.Uses(s) {
			f.readers[t] = append(f.readers[t], s)
		}
	}
}

// groupOfReaders is the group that readers of a statement's result are in, if it can join that: all of them, or
// those in front of the others, to whom the kernel then gives it.
func (f *fuser) groupOfReaders(s hostir.Stmt) *kernelGroup {
	out, readers := hostir.Result(s), f.readers[hostir.Result(s)]
	_, ends := s.(*hostir.Concat)
	if ends || len(readers) == 0 {
		return nil
	}
	first := readers[len(readers)-1]
	g := f.groups[first]
	if g == nil {
		return nil
	}
	also, folded := out.Role == hostir.Output, g.reads(first)
	for _, r := range readers {
		if f.groups[r] != g {
			f.merge(g, f.groups[r])
		}
		switch {
		case f.groups[r] != g && f.place[r] > g.place:
			also = true
		case f.groups[r] != g || g.reads(r) != folded || !sameAxes(r, out):
			return nil
		}
	}
	if also && !f.mayAlsoMake(g, s) {
		return nil
	}
	switch s.(type) {
	case *hostir.Reduce:
		if !folded {
			return nil
		}
	case *hostir.Broadcast:
		if folded {
			return nil
		}
	}
	g.folded[out] = folded
	if g.otherColumns(g.columnsOf(s)) {
		return nil
	}
	g.also[s] = also
	return g
}

// mayAlsoMake reports whether a kernel may have the result of a statement as one of its own: it computes it for
// each element of its other result.
func (f *fuser) mayAlsoMake(g *kernelGroup, s hostir.Stmt) bool {
	out, result := hostir.Result(s), hostir.Result(g.result())
	return elementwise(s) && out.Mesh == result.Mesh && out.Role != hostir.View && !g.folded[result] && hostir.SameAxes(out, result)
}

// columnsOf is the axis that the rows of a member run along.
func (g *kernelGroup) columnsOf(s hostir.Stmt) domain.Axis {
	t := hostir.Result(s)
	switch s.(type) {
	case *hostir.Reduce, *hostir.Concat:
		t = hostir.Uses(s)[0]
	default:
		if g.folded[t] {
			return domain.Axis{}
		}
	}
	live := hostir.Live(t)
	if len(live) == 0 {
		return domain.Axis{}
	}
	return t.Axes[live[len(live)-1]]
}

// reads reports whether what a member reads lacks the axis of the columns.
func (g *kernelGroup) reads(member hostir.Stmt) bool {
	switch member.(type) {
	case *hostir.Reduce, *hostir.Concat:
		return false
	case *hostir.Broadcast:
		return true
	default:
		return g.folded[hostir.Result(member)]
	}
}

// separate takes one statement out of a group that reads, without the axis of the columns, what the group
// does not make: it lies otherwise than rows do. It reports whether there was one.
func (f *fuser) separate() bool {
	for last, g := range f.groups {
		if last != g.result() {
			continue
		}
		made := map[*hostir.Tensor]bool{}
		for _, s := range g.members {
			for _, t := range hostir.Uses(s) {
				if g.reads(s) && !made[t] {
					f.apart[s] = true
					return true
				}
			}
			made[hostir.Result(s)] = true
		}
	}
	return false
}

// findPositions finds what kernels can count themselves: along an axis that a rank has all of, and that stays the same where
// what has one element along it is read for more.
func (f *fuser) findPositions() {
	axes := map[*hostir.Tensor]int{}
	f.counts = map[*hostir.Tensor]counted{}
	for _, s := range f.program.Body {
		out := hostir.Result(s)
		switch s := s.(type) {
		case *hostir.Positions:
			if len(out.Axes) != 1 || out.Axes[0].Kind != domain.Serial || out.Axes[0].LocalSize() == 1 {
				continue
			}
			axes[out], f.counts[out] = 0, counted{name: out.Name}
		case *hostir.Broadcast:
			from, ok := f.counts[s.In]
			if !ok {
				continue
			}
			axes[out] = hostir.AxisMap(s)[0][axes[s.In]]
			live := hostir.Live(out)
			f.counts[out] = counted{from.name, len(live) - 1 - slices.Index(live, axes[out])}
		}
	}
}

// uncounted takes positions that nothing reads any more out of the program.
func (f *fuser) uncounted(body []hostir.Stmt, gone map[*hostir.Tensor]bool) []hostir.Stmt {
	read := map[*hostir.Tensor]bool{}
	var kept []hostir.Stmt
	for _, s := range slices.Backward(body) {
		out := hostir.Result(s)
		if _, positions := f.counts[out]; positions && !read[out] && out.Role != hostir.Output {
			gone[out] = true
			continue
		}
		for _, t := range hostir.Uses(s) {
			read[t] = true
		}
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	return kept
}
