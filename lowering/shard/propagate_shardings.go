package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// PropagateShardings copies Device and Stream axes to temporaries whose axes the user left open,
// from the tensors of the statements that make or read them. It propagates forward, from operands
// to results, then backward, from results to operands, and repeats until nothing changes. Axes
// that the user wrote stay. Outputs stay too, because the caller expects their shards where the spec
// declares them.
//
//   - Forward, an axis is split if all operands that have it agree, and streamed if one of them is streamed and the
//     others are not split. An open sum over a mesh axis agrees with an operand that is split over that mesh axis: the
//     sum moves data between the ranks anyway, and a scatter moves the least. So does what is computed from the sum element
//     by element, such as the sum plus a bias.
//   - Backward, an axis is split if all statements that read the tensor agree. It is streamed if one of them is
//     streamed and the statement that makes the tensor can run along it.
//   - It is an error if two mesh axes would split one axis, or if readers want one mesh axis to split two axes.
//     A tensor that comes from a sum over ranks stays whole then.
//
// An axis gets its kind once, and the pass revisits the statements that make or read its tensor only then. So the pass takes
// time linear in the number of operands, apart from the logarithmic cost of its two queues.
//
// Requires: layouts are set.
// Establishes: an open temporary is split like its operands or its readers, where these agree.
//
//	before: H = Linear(X, W); C = Set(H)     X [S, DIDx(D), m, K], H [S, D, m, N] inferred, C [Stream(S), DIDx(D), m, N]
//	after:  H = Linear(X, W); C = Set(H)     H [Stream(S), DIDx(D), m, N] inferred
func PropagateShardings(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	return newPropagation(p).run()
}

type propagation struct {
	body       []hostir.Stmt
	wholeViews bool                      // do not stream a view that a statement reads as a whole; see gathersParts
	rooted     bool                      // pipeline: broadcast, so that statements may run along split axes
	makers     map[*hostir.Tensor]int    // index in body of the statement that makes a tensor
	readers    map[*hostir.Tensor][]int  // indices in body of the statements that read a tensor
	wishes     map[*hostir.Tensor][]wish // what the readers of a tensor want for its axes
	// sums has the sum of each open tensor that a Reduce makes, or that is computed element by element from such a tensor.
	sums map[*hostir.Tensor]*hostir.Reduce
	// Statements to visit: forwards holds indices in body, and returns the first statement first. backwards holds
	// negated indices, and returns the last statement first.
	forwards, backwards *queue
	errors              diag.List
}

// run propagates kinds until nothing changes.
func (pr *propagation) run() error {
	for !pr.forwards.empty() && pr.errors.Len() == 0 {
		for !pr.forwards.empty() {
			pr.forward(pr.body[pr.forwards.next()])
		}
		for !pr.backwards.empty() {
			pr.settle(pr.body[-pr.backwards.next()])
		}
	}
	return pr.errors.Err()
}

// newPropagation puts open results without a mesh on the mesh of the first operand, and every statement in both queues. It
// records what each statement wants for its operands.
func newPropagation(p *hostir.Program) *propagation {
	pr := &propagation{
		body:   p.Body,
		rooted: p.Choices.Get(schedule.Pipeline) == schedule.BroadcastEach, makers: map[*hostir.Tensor]int{}, readers: map[*hostir.Tensor][]int{},
		wishes: map[*hostir.Tensor][]wish{}, sums: map[*hostir.Tensor]*hostir.Reduce{}, forwards: newQueue(), backwards: newQueue(),
	}
	for i, s := range p.Body {
		pr.forwards.add(i)
		pr.backwards.add(-i)
		out := hostir.Result(s)
		if out == nil || hostir.AxisMap(s) == nil {
			continue
		}
		pr.makers[out] = i
		if isOpen(out) {
			pr.sums[out] = pr.sumOf(s)
		}
		for k, t := range hostir.Uses(s) {
			if !slices.Contains(hostir.Uses(s)[:k], t) {
				pr.readers[t] = append(pr.readers[t], i)
			}
		}
		for _, t := range hostir.Defs(s) {
			if isOpen(t) && t.Mesh == nil {
				t.Mesh = hostir.Uses(s)[0].Mesh
			}
		}
	}
	for _, s := range slices.Backward(p.Body) {
		if out := hostir.Result(s); out != nil {
			for j := range out.Axes {
				pr.ask(s, j)
			}
		}
	}
	return pr
}

// isOpen reports whether the passes may shard t.
func isOpen(t *hostir.Tensor) bool {
	return t.Inferred && (t.Role == hostir.Temp || t.Role == hostir.View)
}

// has reports whether some axis of t has the kind and mesh axis of a.
func has(t *hostir.Tensor, a domain.Axis) bool {
	return slices.ContainsFunc(t.Axes, func(o domain.Axis) bool { return o.Alike(a) })
}

// places reports whether an axis is a Device or a Stream axis.
func places(a domain.Axis) bool { return a.Kind == domain.Device || a.Kind == domain.Stream }

// forward gives the first result of s, if it is open, the kinds on which the operands agree. It gives the other open
// results the kinds of the first result.
func (pr *propagation) forward(s hostir.Stmt) {
	out, rows := hostir.Result(s), hostir.AxisMap(s)
	if out == nil || rows == nil {
		return
	}
	for j := range out.Axes {
		pr.alongside(s, j)
	}
	if !isOpen(out) {
		return
	}
	for j := range out.Axes {
		if out.Axes[j].Kind == domain.Serial {
			pr.inherit(s, hostir.Uses(s), rows, out, j)
		}
	}
}

func (pr *propagation) inherit(s hostir.Stmt, operands []*hostir.Tensor, rows [][]int, out *hostir.Tensor, j int) {
	var found *wish
	agree := true
	var sums []*hostir.Tensor
	for k, t := range operands {
		i := slices.Index(rows[k], j)
		if i < 0 || t.Axes[i].Size != out.Axes[j].Size {
			continue
		}
		a := t.Axes[i]
		switch {
		case !SameMesh(t, out):
			return
		case a.Kind == domain.Serial && pr.summedOver(t) != "":
			sums = append(sums, t)
		case found == nil:
			found = &wish{axis: j, kind: a, from: t}
		case found.kind.Alike(a):
		case hostir.SplitOver(found.kind) != "" && hostir.SplitOver(a) != "":
			pr.contradict(s, out, *found, wish{axis: j, kind: a, from: t})
			return
		case a.Kind == domain.Stream && (found.kind.Kind != domain.Device || pr.gathersParts(s)):
			found.kind = a
		case found.kind.Kind == domain.Stream && pr.gathersParts(s):
		default:
			agree = agree && found.kind.Kind == domain.Stream && a.Kind != domain.Device
		}
	}
	for _, t := range sums {
		over := hostir.SplitOver(found.orNone())
		agree = agree && (over == "" || over == pr.summedOver(t) && hostir.SplitAxis(t, over) == hostir.Unmapped)
	}
	if found != nil && agree {
		pr.give(s, out, *found)
	}
}

// orNone returns the wished kind, or the zero Axis if w is nil.
func (w *wish) orNone() domain.Axis {
	if w == nil {
		return domain.Axis{}
	}
	return w.kind
}

// sumOf returns s if it is a Reduce. If s computes element by element, and all its operands of the result's shape are in sums, sumOf
// returns the sum of the first one. Otherwise it returns nil.
func (pr *propagation) sumOf(s hostir.Stmt) (sum *hostir.Reduce) {
	switch s := s.(type) {
	case *hostir.Reduce:
		return s
	case *hostir.Fused:
		if s.Parts() > 1 || s.FoldsRows() {
			return nil
		}
	case *hostir.Unary, *hostir.Cast, *hostir.Binary:
	default:
		return nil
	}
	for _, t := range hostir.Uses(s) {
		switch {
		case !slices.EqualFunc(t.Axes, hostir.Result(s).Axes, func(a, b domain.Axis) bool { return a.Size == b.Size }): // a bias
		case pr.sums[t] == nil:
			return nil
		case sum == nil:
			sum = pr.sums[t]
		}
	}
	return sum
}

// summedOver returns the mesh axis over which t was summed, or "".
func (pr *propagation) summedOver(t *hostir.Tensor) string {
	if sum := pr.sums[t]; sum != nil {
		return hostir.SplitOver(sum.In.Axes[sum.Axis])
	}
	return ""
}

// give sets the kind of an axis of t, the result of s. It does nothing if the kind is neither Device
// nor Stream, or if an axis of t has the kind already. It also does nothing for a Stream axis along
// which s or, with wholeViews, a reader of t cannot run.
func (pr *propagation) give(s hostir.Stmt, t *hostir.Tensor, w wish) {
	if !places(w.kind) || has(t, w.kind) || w.kind.Kind == domain.Stream &&
		(!pr.runsAlong(s, w.axis) || pr.wholeViews && !pr.carriedOn(t, w.axis)) {
		return
	}
	t.Axes[w.axis].Place(w.kind.Kind, w.kind.Mesh)
	for _, reader := range pr.readers[t] {
		pr.forwards.add(reader)
	}
	pr.ask(s, w.axis)
	pr.alongside(s, w.axis)
}

// carriedOn reports whether all readers of t can read it slice by slice, because their results have the axis. It is true for
// every t that is not a view.
func (pr *propagation) carriedOn(t *hostir.Tensor, axis int) bool {
	return t.Role != hostir.View || !slices.ContainsFunc(pr.readers[t], func(reader int) bool {
		s := pr.body[reader]
		return hostir.AxisMap(s)[slices.Index(hostir.Uses(s), t)][axis] == hostir.Unmapped
	})
}

// alongside copies the kind of an axis of the first result to the corresponding axis of the other open results on the same mesh.
func (pr *propagation) alongside(s hostir.Stmt, axis int) {
	for i, row := range hostir.FurtherMaps(s) {
		t, kind := hostir.Defs(s)[i+1], hostir.Result(s).Axes[axis]
		at := slices.Index(row, axis)
		if at < 0 || !isOpen(t) || !SameMesh(t, hostir.Result(s)) || t.Axes[at].Kind != domain.Serial || !places(kind) ||
			t.Axes[at].Size != kind.Size || has(t, kind) {
			continue
		}
		t.Axes[at].Place(kind.Kind, kind.Mesh)
		for _, reader := range pr.readers[t] {
			pr.forwards.add(reader)
		}
	}
}

// runsAlong reports whether a pipeline of s can run along an axis of its result.
func (pr *propagation) runsAlong(s hostir.Stmt, axis int) bool {
	rows := hostir.AxisMap(s)
	switch s.(type) {
	case *hostir.Positions, *hostir.Attention:
		return false // positions are a short tensor, of which readers take slices; an attention runs as a whole
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear, *hostir.Slice, *hostir.Concat:
		if slices.Index(rows[0], axis) < 0 {
			return false // the axis is the columns, or the axis of a Slice or Concat
		}
	}
	for k, t := range hostir.Uses(s) {
		if i := slices.Index(rows[k], axis); i >= 0 && hostir.SplitOver(t.Axes[i]) != "" && !pr.rooted && !pr.gathersParts(s) {
			return false // the axis is split over ranks
		}
	}
	return true
}

// gathersParts reports whether s may run in a pipeline along an axis that is split over ranks in one operand. The
// pipeline then gathers this operand part by part. For example, s multiplies the rows of a GEMM, which gathers them, by
// scales. Only a Binary may run so, and only with wholeViews.
func (pr *propagation) gathersParts(s hostir.Stmt) bool {
	return hostir.Is[*hostir.Binary](s) && pr.wholeViews
}
