package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// InsertReshardings inserts a Set before or after every operation whose operands and result are on different ranks, so
// that each statement is either local to a rank or only moves data. The choice reshard selects the side. With reshard:
// before, the operands move. With reshard: after, the operation runs on the operand's ranks and its result moves, if
// one operand differs and the operation can run there.
//
// Requires: every tensor's sharding is final.
// Establishes: operands and results of every statement but Set and Reduce agree on
// the split of each axis. With deterministic: true no collective adds floats of more than two ranks.
//
//	before: C = Matmul(A, B)                            A [S, DIDx(D), m, K], C [Stream(S), D, m, N]
//	after:  A_all = Set(A); C = Matmul(A_all, B)        A_all [Stream(S), D, m, K]
func InsertReshardings(p *hostir.Program) error {
	r := &resharder{program: p, spec: hostir.SpecOf(p), names: hostir.NewNamer(p), moved: map[string][]*hostir.Tensor{}}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		body = append(body, r.statement(s)...)
		body = append(body, r.further(s)...)
	}
	p.Body = ownPartsFirst(p, body)
	return nil
}

// ownPartsFirst moves each Set that only takes a rank's part of a whole tensor, or of a view of such a tensor. The Set then
// directly follows the statement that makes the tensor, or is at the beginning if none does. Such a Set moves no data and
// should not separate operations that become one kernel.
func ownPartsFirst(p *hostir.Program, body []hostir.Stmt) []hostir.Stmt {
	own, of := map[hostir.Stmt]bool{}, map[*hostir.Tensor]bool{}
	for _, s := range slices.Backward(body) {
		_, isSet := s.(*hostir.Set)
		out := hostir.Result(s)
		takes := isSet && out.Role == hostir.Temp && Reshards(s) && !Moves(p, s)
		if takes || of[out] && out.Role == hostir.View && hostir.MakesView(s) {
			own[s], of[hostir.Uses(s)[0]] = true, true
		}
	}
	var parts []hostir.Stmt
	rest := lists.Except(body, func(s hostir.Stmt) bool {
		if own[s] {
			parts = append(parts, s)
		}
		return own[s]
	})
	for _, s := range parts {
		made := slices.IndexFunc(rest, func(m hostir.Stmt) bool { return slices.Contains(hostir.Defs(m), hostir.Uses(s)[0]) })
		rest = slices.Insert(rest, made+1, s)
	}
	return rest
}

type resharder struct {
	program *hostir.Program
	spec    *hostir.Spec
	names   *hostir.Namer
	moved   map[string][]*hostir.Tensor // moved operands, by name and new axes as text, with Stream axes as Serial
}

// further moves the additional results of s that are declared on other ranks than the first result. s computes them on
// the ranks of the first.
func (r *resharder) further(s hostir.Stmt) []hostir.Stmt {
	var list []hostir.Stmt
	for i, row := range hostir.FurtherMaps(s) {
		first, t := hostir.Result(s), hostir.Defs(s)[i+1]
		axes := follow(operand{i, t, row}, first)
		if slices.EqualFunc(axes, t.Axes, domain.Axis.Alike) && SameMesh(t, first) {
			continue
		}
		local := r.local(t, axes, first.Mesh)
		hostir.ReplaceDef(s, t, local)
		list = append(list, r.move(s, t, local))
	}
	return list
}

// operand is one operand of a statement with its row of the axis map. place is its index in hostir.Uses; two operands
// can be the same tensor.
type operand struct {
	place  int
	tensor *hostir.Tensor
	row    []int
}

func (r *resharder) statement(s hostir.Stmt) []hostir.Stmt {
	out := hostir.Result(s)
	rows := hostir.AxisMap(s)
	if hostir.Is[*hostir.Set](s) || out == nil || rows == nil || Reshards(s) && !r.inOrder(s) {
		return []hostir.Stmt{s}
	}
	if len(newSplits(s)) > 0 {
		return r.spread(s)
	}
	var apart []operand
	for i, t := range hostir.Uses(s) {
		if len(Contracted(t, rows[i])) > 0 || len(Crossing(t, out, rows[i])) > 0 || !SameMesh(t, out) {
			apart = append(apart, operand{i, t, rows[i]})
		}
	}
	switch {
	case len(apart) == 0:
		return []hostir.Stmt{s}
	case r.program.Choices.Get(schedule.Reshard) == schedule.After && len(apart) == 1 && movable(s, apart[0]):
		return r.after(s, apart[0])
	default:
		return r.before(s, apart)
	}
}

// inOrder reports whether s must not become a collective, because deterministic: true asks for the same bits on every run. It is true
// only for a Reduce of the parts of more than two ranks by a function for which the order of operands matters. Each
// rank then gets all parts, and reduces them in the order of the ranks. Pipelines from rank to rank also keep this
// order, so inOrder is false for them.
func (r *resharder) inOrder(s hostir.Stmt) bool {
	sum, ok := s.(*hostir.Reduce)
	return ok && r.program.Choices.Get(schedule.Deterministic) == schedule.True && sum.In.Axes[sum.Axis].Size > 2 &&
		domain.FoldOf(sum.Fn).OrderMatters() && (!r.program.Choices.Exchanges() || !ScattersSlices(sum))
}

// before moves the given operands to the ranks of the result. A tensor that was moved there earlier is not moved again.
func (r *resharder) before(s hostir.Stmt, apart []operand) []hostir.Stmt {
	out := hostir.Result(s)
	var list []hostir.Stmt
	operands := hostir.Uses(s)
	for _, o := range apart {
		axes := follow(o, out)
		key := o.tensor.Name + domain.FormatAxes(withoutStreams(axes))
		i := slices.IndexFunc(r.moved[key], func(t *hostir.Tensor) bool { return SameMesh(t, out) && serves(t.Axes, axes) })
		if i < 0 {
			i = len(r.moved[key])
			suffix := "_all"
			if !IsSplit(o.tensor) && IsSplit(&hostir.Tensor{Axes: axes}) {
				suffix = "_own" // this rank's part of a tensor that each rank has whole
			}
			t := r.tensor(o.tensor, suffix, axes, out.Mesh)
			r.moved[key] = append(r.moved[key], t)
			list = append(list, r.move(s, t, o.tensor))
		}
		operands[o.place] = r.moved[key][i]
	}
	hostir.ReplaceUses(s, operands)
	return append(list, s)
}

// withoutStreams returns a copy of axes in which Stream axes are Serial.
func withoutStreams(axes []domain.Axis) []domain.Axis {
	axes = slices.Clone(axes)
	for i := range axes {
		if axes[i].Kind == domain.Stream {
			axes[i].Kind = domain.Serial
		}
	}
	return axes
}

// serves reports whether a tensor with the axes moved can be read as one with the given axes. A Stream axis may replace
// a Serial axis: after the pipeline all slices have been moved.
func serves(moved, axes []domain.Axis) bool {
	return slices.EqualFunc(moved, axes, func(m, a domain.Axis) bool {
		return m.Kind == a.Kind || m.Kind == domain.Stream && a.Kind == domain.Serial
	})
}

// newSplits lists the axes of a result that are split over ranks but come from no axis of an operand. A Reshape makes such
// axes from unsplit axes, a Slice or a Concat from parts of axes, and an Attention from a whole axis. For an Attention it
// also lists the Stream axis. The statement then computes these axes as a whole, and a Set after it splits or streams them.
func newSplits(s hostir.Stmt) []int {
	_, attends := s.(*hostir.Attention)
	if !hostir.Is[*hostir.Reshape](s) && !attends && hostir.Ranges(s) == nil {
		return nil
	}
	var axes []int
	for j, a := range hostir.Result(s).Axes {
		made := !slices.ContainsFunc(hostir.AxisMap(s), func(row []int) bool { return slices.Contains(row, j) })
		if a.Kind == domain.Device && made || a.Kind == domain.Stream && attends {
			axes = append(axes, j)
		}
	}
	return axes
}

// spread makes s compute a result with whole axes, and adds a Set that splits them.
func (r *resharder) spread(s hostir.Stmt) []hostir.Stmt {
	out, axes := hostir.Result(s), slices.Clone(hostir.Result(s).Axes)
	for _, j := range newSplits(s) {
		axes[j].Place(domain.Serial, "")
	}
	local := r.local(out, axes, out.Mesh)
	hostir.ReplaceDef(s, out, local)
	return append(r.statement(s), r.move(s, out, local))
}

// follow returns the axes of an operand with the kinds of the corresponding axes of the result. Split
// axes become whole if they have no corresponding axis, or one of another extent. A Stream axis without
// a corresponding axis becomes Serial if the result has a Stream axis.
func follow(o operand, out *hostir.Tensor) []domain.Axis {
	axes := slices.Clone(o.tensor.Axes)
	for i := range axes {
		if o.row[i] == hostir.Unmapped && axes[i].Kind == domain.Device {
			axes[i].Place(domain.Serial, "")
		}
		switch j := o.row[i]; {
		case j == hostir.Unmapped:
		case axes[i].Size == out.Axes[j].Size:
			axes[i].Place(out.Axes[j].Kind, out.Axes[j].Mesh)
		case axes[i].Kind == domain.Device: // one element on a mesh axis of one rank is broadcast
			axes[i].Place(domain.Serial, "")
		}
	}
	for i := range axes {
		if o.row[i] == hostir.Unmapped && axes[i].Kind == domain.Stream && hostir.StreamAxis(out) >= 0 {
			axes[i].Kind = domain.Serial // the pipeline runs along the axis of the result
		}
	}
	return axes
}

// movable reports whether s can run on the ranks of operand o. Each rank must have all elements that s sums over or
// merges with other axes. The axes on which o and the result differ must not be the Stream axis, and no other operand may
// run along them. No mesh axis may split two axes of the result that s makes there. The result must be on the mesh of o.
func movable(s hostir.Stmt, o operand) bool {
	out, rows := hostir.Result(s), hostir.AxisMap(s)
	if len(Contracted(o.tensor, o.row)) > 0 || splitsTwice(local(s, o)) {
		return false
	}
	for _, i := range Crossing(o.tensor, out, o.row) {
		j := o.row[i]
		if out.Axes[j].Kind == domain.Stream {
			return false
		}
		for k := range hostir.Uses(s) {
			if k != o.place && slices.Contains(rows[k], j) {
				return false
			}
		}
	}
	return SameMesh(o.tensor, out)
}

// after computes a local result on the ranks of operand o, and moves the result.
func (r *resharder) after(s hostir.Stmt, o operand) []hostir.Stmt {
	out := hostir.Result(s)
	made := r.local(out, local(s, o), o.tensor.Mesh)
	hostir.ReplaceDef(s, out, made)
	return []hostir.Stmt{s, r.move(s, out, made)}
}

// local returns the axes of the result of s, with the kinds of operand o on axes where the two differ.
func local(s hostir.Stmt, o operand) []domain.Axis {
	out := hostir.Result(s)
	axes := slices.Clone(out.Axes)
	for _, i := range Crossing(o.tensor, out, o.row) {
		a := o.tensor.Axes[i]
		if a.Kind == domain.Stream && hostir.StreamAxis(out) >= 0 {
			a.Kind = domain.Serial // the pipeline runs along the Stream axis of the result
		}
		axes[o.row[i]].Place(a.Kind, a.Mesh)
	}
	return axes
}

// splitsTwice reports whether a mesh axis splits two of the axes.
func splitsTwice(axes []domain.Axis) bool {
	seen := map[string]bool{}
	for _, a := range axes {
		over := hostir.SplitOver(a)
		if over != "" && seen[over] {
			return true
		}
		seen[over] = true
	}
	return false
}

// local declares a tensor like out with the given axes, which is computed first and then moved to the ranks of out.
func (r *resharder) local(out *hostir.Tensor, axes []domain.Axis, mesh *domain.Mesh) *hostir.Tensor {
	local := r.tensor(out, "_local", axes, mesh)
	if out.Role == hostir.View { // the moved tensor is a buffer, and the local one stays a view
		local.Role, out.Role = hostir.View, hostir.Temp
	}
	return local
}

// move returns the Set that moves in to the ranks of out: an operand before s, or a result after s. Its note gives the reason.
func (r *resharder) move(s hostir.Stmt, out, in *hostir.Tensor) hostir.Stmt {
	set := &hostir.Set{Info: hostir.Info{Pos: s.Meta().Pos}, Out: out, In: in}
	by, gathers, cuts := r.spec.Operation(s), SameMesh(in, out), SameMesh(in, out)
	for _, sh := range Describe(set).Shifts {
		gathers, cuts = gathers && sh.To == NoAxis, cuts && sh.From == NoAxis
	}
	switch result := slices.Contains(hostir.Defs(s), in); {
	case result && gathers:
		set.Note = "gathered, since each rank computes a part of the " + by
	case gathers:
		set.Note = "gathered, since " + by + " reads the parts of all ranks"
	case cuts:
		set.Note = "this rank's part: each rank has all of it before"
	case result:
		set.Note = by + " is computed on other ranks than those that hold the result"
	default:
		set.Note = by + " reads this on other ranks than those that hold it"
	}
	return set
}

// tensor declares a Temp like t with other axes.
func (r *resharder) tensor(t *hostir.Tensor, suffix string, axes []domain.Axis, mesh *domain.Mesh) *hostir.Tensor {
	n := r.names.Declare(t, suffix)
	n.Axes, n.Mesh = axes, mesh
	return n
}
