package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// FuseElementwise merges elementwise operations and reductions of rows into one statement, and so into one kernel
// (kernels: fused):
//
//	G = Unary(silu, Zg)          A = Fused(silu_mul, Zg, Zu): G = silu(Zg), A = mul(G, Zu)
//	A = Binary(mul, G, Zu)
//
// The pass requires whole tensors, and that each statement is local or one transfer. It removes the buffers of
// intermediate results that only the kernel reads. Each operand is read at most as often as before. A kernel walks over
// rows once. So every result has to be row-major, and only the last axis may be reduced. Axes that correspond to each
// other have to be of one kind, so that a pipeline slices them in the same way. A kernel may end in a concat of rows,
// and it counts positions itself if no pipeline slices them. A cast that the spec contains to a narrower type, and any
// cast to integers or fp8, is a step that rounds. An intermediate result that other statements read after the kernel
// becomes another result of the kernel. Kernels that read the same intermediate result or the same operand are merged
// where possible (merge.go).
func FuseElementwise(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	f := &fuser{
		program: p, apart: map[hostir.Stmt]bool{}, flat: map[hostir.Stmt]bool{}, alone: map[hostir.Stmt]bool{},
		whole: map[string]*domain.Operation{}, written: writtenCasts(p),
	}
	f.copyNarrow()
	f.copyQuantized()
	f.links = linksOf(p.Body)
	f.foldNarrow()
	for i, ref := range p.Reference {
		if i > 0 && ref.Whole != "" && p.Reference[i-1].Whole == ref.Whole { // a composite
			f.whole[p.Reference[i-1].Out], f.whole[ref.Out] = &p.Reference[i-1], &p.Reference[i]
		}
	}
	for f.group(); f.separate() || f.part(); {
		f.group()
	}
	for _, t := range p.Tensors {
		f.mergeReaders(t)
	}
	f.mergeTables()
	f.findPositions()
	f.rewrite()
	return nil
}

type fuser struct {
	*links  // group replaces the readers by those that remain
	program *hostir.Program
	names   *hostir.Namer                // made for the first new name
	written map[diag.Pos]bool            // positions of casts that the spec has
	whole   map[string]*domain.Operation // name of a tensor of the model -> its operation, if that is part of a composite
	apart   map[hostir.Stmt]bool         // must not be part of any kernel
	flat    map[hostir.Stmt]bool         // computed from reductions of rows, but not in their kernel
	ofFolds map[hostir.Stmt]bool         // results of the method folds that are already known
	alone   map[hostir.Stmt]bool         // statements that compute results of groups that may not be merged
	groups  map[hostir.Stmt]*kernelGroup
	counts  map[*hostir.Tensor]counted
}

// kernelGroup is a group of statements that may become one kernel, in the order of the program. The last statement
// computes the main result.
type kernelGroup struct {
	place   int // index in the program's body at which the kernel runs: before all statements that read its results
	members []hostir.Stmt
	also    map[hostir.Stmt]bool    // members whose results are outputs or are also read outside of the group
	columns domain.Axis             // the axis along which rows run; its extent is at most 1 if all results have one element per row
	folded  map[*hostir.Tensor]bool // the tensor has one element per row: it does not have the axis of the columns
}

func (g *kernelGroup) result() hostir.Stmt { return g.members[len(g.members)-1] }

// group assigns each statement that can be part of a kernel to the group of its readers. If the statement cannot join
// their group, it becomes the last statement of a new group, except a Broadcast, which then stays outside of kernels.
func (f *fuser) group() {
	f.ofFolds = map[hostir.Stmt]bool{}
	f.readers, f.groups = map[*hostir.Tensor][]hostir.Stmt{}, map[hostir.Stmt]*kernelGroup{}
	for i, s := range slices.Backward(f.program.Body) {
		if hostir.Is[*hostir.Cast](s) && hostir.Result(s).Role == hostir.Temp && len(f.readers[hostir.Result(s)]) == 0 {
			continue // foldNarrow has made its reader read the operand of the cast, and unread removes the cast
		}
		if rowWise(s) && !f.apart[s] {
			g := f.groupOfReaders(s)
			if g == nil && !hostir.Is[*hostir.Broadcast](s) {
				folded := map[*hostir.Tensor]bool{hostir.Result(s): f.folds(s)}
				g = &kernelGroup{place: i, folded: folded, also: map[hostir.Stmt]bool{}}
			}
			if g != nil {
				g.members = slices.Insert(g.members, 0, s)
				f.groups[s] = g
				if c := g.columnsOf(s); c.Size > 1 {
					g.columns = c
				}
			}
		}
		for _, t := range hostir.Uses(s) {
			f.readers[t] = append(f.readers[t], s)
		}
	}
}

// groupOfReaders returns the group that reads a statement's result, or nil if the statement cannot join it. It merges
// the groups of several readers where it can. All readers have to be in the group, or the other readers have to come
// after its kernel, which then also stores the result for them.
func (f *fuser) groupOfReaders(s hostir.Stmt) *kernelGroup {
	out, readers := hostir.Result(s), f.readers[hostir.Result(s)]
	if hostir.Is[*hostir.Concat](s) || len(readers) == 0 || out.DType.IsInteger() && slices.ContainsFunc(readers, toInteger) {
		return nil // values in a kernel are fp32, which cannot represent all int32 or int64 values
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
	if also && !f.mayAlsoMake(g, s, folded) {
		return nil
	}
	g.folded[out] = folded
	if g.otherColumns(g.columnsOf(s)) {
		return nil
	}
	g.also[s] = also
	return g
}

// columnsOf returns the axis along which the rows of a member's result run. For a Reduce or a Concat, it is the axis of
// the rows of its first operand. It returns the zero Axis if there is none.
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

// reads reports whether the operands of a member lack the axis of the columns.
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
