package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// SplitRows splits an axis of rows into two axes, so that the rows can become a pipeline although the spec has no Stream
// axis. M becomes D parts of M/D rows, one part for each rank. No element moves. The split begins at
//
//   - a GEMM whose result is summed over ranks, if each rank has the whole sum. A rank then has only the sum of its
//     rows. The split also begins there if the sum is scattered along an axis that a reshape made from the rows.
//   - a reshape that merges an axis split over ranks with the rows after it. The rows then stay on their ranks.
//   - a tensor that each rank would compute as a whole, if all readers need only the rows of their rank (want).
//
// Statements that read only split rows also run on split rows, and each rank computes its own rows. The split ends at a
// GEMM whose weights are split over the same ranks. Such a GEMM needs all rows, and StreamReshardings gathers them one
// part after another. A sum or a maximum over all rows first reduces the rows of each rank, and then reduces over the
// ranks. A statement that needs its rows in one axis reads a view with one axis. A statement on split rows reads unsplit
// operands through a view that splits their rows.
//
// Requires: every tensor has its Device axes, and its layout.
// Establishes: if the schedule asks for point-to-point pipelines and the spec names none, a sum over ranks next to a
// GEMM has an axis that is split over the ranks. The statements after the sum have such an axis, too. Both are true
// where the rows can be split.
//
//	before: P = Linear(A, W); S = Reduce(sum, P, axis 0); Y = Binary(add, X, S)       P [DIDx(D), M, N], S [M, N]
//	after:  A_rows = Reshape(A); W_rows = Broadcast(W, axis 1); P = Linear(A_rows, W_rows); S = Reduce(sum, P, axis 0)
//	        X_rows = Reshape(X); Y_rows = Binary(add, X_rows, S); Y_rows_all = Set(Y_rows); Y = Reshape(Y_rows_all)
//	                                       P [DIDx(D), D, M/D, N], S and Y_rows [DIDx(D), M/D, N]
func SplitRows(p *hostir.Program) error {
	if !namesNoPipeline(p) {
		return nil
	}
	r := newRowSplitter(p)
	if len(r.begin) == 0 {
		return nil
	}
	body := p.Body
	p.Body = make([]hostir.Stmt, 0, len(body))
	for i, s := range body {
		r.statement(s, r.maps[i])
	}
	r.dropSame()
	return nil
}

type rowSplitter struct {
	program *hostir.Program
	names   *hostir.Namer
	maps    [][][]int                  // axis map of each statement before the pass
	begin   map[*hostir.Tensor]split   // tensors at which a split begins
	wanted  map[*hostir.Tensor]bool    // tensors whose rows are split because their readers have split rows
	splits  map[*hostir.Tensor]split   // tensors whose rows are two axes
	views   map[viewKey]*hostir.Tensor // views of tensors with other axes
}

func newRowSplitter(p *hostir.Program) *rowSplitter {
	r := &rowSplitter{
		program: p, names: hostir.NewNamer(p), begin: rowsToSplit(p), splits: map[*hostir.Tensor]split{},
		views: map[viewKey]*hostir.Tensor{}, maps: lists.Map(p.Body, hostir.AxisMap),
	}
	r.want()
	return r
}

// statement appends s. It runs on split rows if follows finds any. A Reduce over split rows may become two (see folds).
func (r *rowSplitter) statement(s hostir.Stmt, rows [][]int) {
	out := hostir.Result(s)
	at, found := r.follows(s, rows, r.splits)
	_, reshapes := s.(*hostir.Reshape)
	switch {
	case !found && r.folds(s):
	case !found && reshapes: // a reshape accepts any axes
		r.program.Body = append(r.program.Body, s)
	case !found:
		r.onWhole(s)
	case reshapes:
		r.splitAxis(out, at)
		out.Axes[at.At] = at.By
		r.program.Body = append(r.program.Body, s)
	default:
		r.along(s, rows, at)
	}
}

// follows returns how the rows of a statement's result are split: a split that begins at the result, or the split of an
// operand along whose rows the statement runs. It returns false if there is none.
func (r *rowSplitter) follows(s hostir.Stmt, rows [][]int, splits map[*hostir.Tensor]split) (at split, found bool) {
	out := hostir.Result(s)
	at, found = r.begin[out]
	for k, t := range hostir.Uses(s) {
		in, is := splits[t]
		if is && !found && SameMesh(t, out) && runsAlongRows(s, rows, k, in.At) && splittable(out, rows[k][in.At], in.By) {
			at, found = split{rows[k][in.At], in.By, in.Was}, true
		}
	}
	return at, found
}

// folds appends a Reduce over split rows as two: the first reduces the rows of a rank, the second reduces over the
// ranks. It reports whether s is such a Reduce.
func (r *rowSplitter) folds(s hostir.Stmt) bool {
	fold, reduces := s.(*hostir.Reduce)
	if !reduces || !SameMesh(fold.In, fold.Out) {
		return false
	}
	at, is := r.splits[fold.In]
	if !is || fold.Axis != at.At || hostir.SplitOver(fold.In.Axes[at.At]) == "" || splitBy(fold.Out, at.By.Mesh) != NoAxis {
		return false
	}
	own := r.names.Declare(fold.In, "_own")
	own.DType, own.Inferred = fold.Out.DType, true
	own.Axes, own.Layout = slices.Delete(own.Axes, at.At+1, at.At+2), hostir.DropAxis(own.Layout, at.At+1)
	delete(r.splits, own)
	of := hostir.InfoFrom(s, "the sum of this rank's rows, before the sum over ranks")
	r.program.Body = append(r.program.Body, &hostir.Reduce{Info: of, Fn: fold.Fn, Out: own, In: fold.In, Axis: at.At + 1})
	fold.In = own
	r.program.Body = append(r.program.Body, fold)
	return true
}

// runsAlongRows reports whether a statement computes each row of its result from the same row of operand k, whose rows
// are counted by the given axis.
func runsAlongRows(s hostir.Stmt, rows [][]int, k, axis int) bool {
	if len(rows) == 0 || rows[k][axis] == hostir.Unmapped {
		return false
	}
	switch s := s.(type) {
	case *hostir.Matmul, *hostir.Linear:
		return k == 0 && !weightsHave(s, rows, rows[0][axis])
	case *hostir.BlockLinear: // the rows of the first operand, and their scales
		return k%2 == 0 && !weightsHave(s, rows, rows[k][axis])
	case *hostir.Fused: // only a dropout, because this pass precedes the fusion of kernels
		return s.Parts() == 1 && !s.FoldsRows() && !counts(s.Body)
	case *hostir.Set, *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Reduce, *hostir.Broadcast, *hostir.Slice, *hostir.Concat:
		return true
	default:
		return false
	}
}

// counts reports whether a kernel has a step that computes the positions of elements.
func counts(body domain.Body) bool {
	return slices.ContainsFunc(body, func(step domain.Step) bool {
		_, positions := step.Positions()
		return positions
	})
}

// onWhole appends a statement that needs the rows of its operands in one axis.
func (r *rowSplitter) onWhole(s hostir.Stmt) {
	info := hostir.InfoFrom(s, "its rows in one axis")
	hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor { return r.whole(info, t) })
	r.program.Body = append(r.program.Body, s)
}

// along appends a statement that runs on split rows: its result has two axes in place of axis at.At. It splits the rows
// of the operands in the same way, and gathers the result if that must keep its axes.
func (r *rowSplitter) along(s hostir.Stmt, rows [][]int, at split) {
	info := hostir.InfoFrom(s, "its rows in parts, one of each rank")
	operands := hostir.Uses(s)
	own := r.sumsOver(s, at) || r.wanted[hostir.Result(s)]
	for k, t := range operands {
		i := slices.Index(rows[k], at.At)
		if in, is := r.splits[t]; is && (in.At != i || !in.By.Alike(at.By)) {
			t = r.whole(info, t)
			operands[k] = t
		}
		shared := slices.ContainsFunc(rows[k], func(j int) bool { return j != hostir.Unmapped && j < at.At })
		switch {
		case i >= 0 && t.Axes[i].Size > 1:
			operands[k] = r.rows(info, t, split{i, at.By, at.Was})
			own = own || SameMesh(t, hostir.Result(s)) && hostir.SplitOver(operands[k].Axes[i]) == at.By.Mesh
		case shared:
			operands[k] = r.single(info, t, rows[k], at.At)
		}
	}
	moveAxis(s, rows, at.At, 1)
	hostir.ReplaceUses(s, operands)
	out := hostir.Result(s)
	local := r.result(out)
	r.splitAxis(local, at)
	if own && splitBy(local, at.By.Mesh) == NoAxis {
		local.Axes[at.At] = at.By
	}
	hostir.ReplaceDef(s, out, local)
	r.program.Body = append(r.program.Body, s)
	if local != out {
		r.gather(s, out, local)
	}
}

// gather appends the statements that make out, a whole tensor, from the rows of all ranks in local.
func (r *rowSplitter) gather(s hostir.Stmt, out, local *hostir.Tensor) {
	info := hostir.InfoFrom(s, "gathered, since each rank computed some of the rows")
	if at := r.splits[local]; hostir.SplitOver(local.Axes[at.At]) != "" {
		all := r.names.Declare(local, "_all")
		all.Inferred = true
		all.Axes[at.At].Place(domain.Serial, "")
		r.program.Body = append(r.program.Body, &hostir.Set{Info: info, Out: all, In: local})
		local = all
	}
	r.reshape(info, out, local)
}

// sumsOver reports whether s is a Reduce over the mesh axis that splits the rows.
func (r *rowSplitter) sumsOver(s hostir.Stmt, at split) bool {
	sum, reduces := s.(*hostir.Reduce)
	return reduces && hostir.SplitOver(sum.In.Axes[sum.Axis]) == at.By.Mesh
}

// moveAxis adds by to the axis field of a statement if axis at of the result, or the axis of the operand that corresponds to it, comes
// before that axis.
func moveAxis(s hostir.Stmt, rows [][]int, at, by int) {
	in := NoAxis
	if len(rows) > 0 {
		in = slices.Index(rows[0], at)
	}
	hostir.MoveAxis(s, in, at, by)
}

// dropSame removes reshapes to open views that have the axes of the operand after the split. Readers of such a view read the operand.
func (r *rowSplitter) dropSame() {
	by := map[*hostir.Tensor]*hostir.Tensor{}
	r.program.Body = slices.DeleteFunc(r.program.Body, func(s hostir.Stmt) bool {
		hostir.SubstituteUses(s, hostir.ByMap(by))
		m, reshapes := s.(*hostir.Reshape)
		same := reshapes && isOpen(m.Out) && hostir.SameAxes(m.In, m.Out) && m.Out.Role == hostir.View
		if same {
			by[m.Out] = m.In
		}
		return same
	})
	r.program.Tensors = slices.DeleteFunc(r.program.Tensors, func(t *hostir.Tensor) bool { return by[t] != nil })
}
