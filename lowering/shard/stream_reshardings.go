package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// StreamReshardings turns gathers and sums into pipelines if the spec names no Stream axis and the schedule sends shards from
// rank to rank. A rank multiplies the rows of one rank while it receives the rows of the next. It sends each part of a sum as
// soon as the part is computed.
//
//   - A GEMM whose rows are split over ranks in its operand, and whole in its result, streams along them. So does a
//     Set of SplitRows that gathers such rows. A Set that moves the split to another axis is not a gather.
//   - A GEMM whose result is summed over ranks streams along the rows that the sum scatters over the ranks. So do
//     GEMMs whose results are added first.
//
// PropagateShardings then streams the statements between them, except for views that a statement reads as a whole. If a spec
// has a Stream axis, the spec alone defines the pipelines.
//
// Requires: every tensor has its Device axes.
// Establishes: if the schedule asks for point-to-point pipelines and the spec names none, the gathers
// and sums above are pipelines, where the tensors can have a Stream axis.
//
//	before: Z = Linear(X, W)    X [DIDx(D), m, K], Z [D, m, N] inferred
//	after:  Z = Linear(X, W)    Z [Stream(D), m, N] inferred
func StreamReshardings(p *hostir.Program) error {
	if !namesNoPipeline(p) {
		return nil
	}
	makers, found := hostir.Makers(p.Body), false
	for _, s := range p.Body {
		found = streamGathered(s) || found
		found = streamSummed(s, makers) || found
	}
	if !found {
		return nil
	}
	pr := newPropagation(p)
	pr.wholeViews = true // a statement that reads a whole view would need a copy of the slices
	return pr.run()
}

// namesNoPipeline reports whether the schedule asks for point-to-point pipelines, and the spec names no Stream axis.
func namesNoPipeline(p *hostir.Program) bool {
	streams := func(t *hostir.Tensor) bool { return hostir.StreamAxis(t) >= 0 }
	return !hostir.Allocates(p) && p.Choices.Get(schedule.Pipeline) == schedule.P2P && !slices.ContainsFunc(p.Tensors, streams)
}

// streamGathered streams a GEMM, or a Set, along an axis that is split over ranks in its first operand and whole in its
// result. It reports success.
func streamGathered(s hostir.Stmt) bool {
	_, moves := s.(*hostir.Set)
	if !moves && !hostir.IsGEMM(s) {
		return false
	}
	operand, row := hostir.Uses(s)[0], hostir.AxisMap(s)[0]
	for i, a := range operand.Axes {
		over := hostir.SplitOver(a)
		if moves && splitBy(hostir.Result(s), over) != NoAxis {
			continue
		}
		if over != "" && row[i] != hostir.Unmapped && stream(hostir.Result(s), row[i], a) {
			return true
		}
	}
	return false
}

// streamSummed streams the GEMMs before a sum along the rows that the sum scatters over ranks. It reports success.
func streamSummed(s hostir.Stmt, makers map[*hostir.Tensor]hostir.Stmt) bool {
	r, reduces := s.(*hostir.Reduce)
	if !reduces || r.Fn != "sum" {
		return false
	}
	over := hostir.SplitOver(r.In.Axes[r.Axis])
	if over == "" {
		return false
	}
	row := hostir.AxisMap(s)[0]
	for i := range r.In.Axes {
		if j := row[i]; j != hostir.Unmapped && hostir.SplitOver(r.Out.Axes[j]) == over && streamRows(r.In, i, r.Out.Axes[j], makers) {
			return true
		}
	}
	return false
}

// streamRows streams the GEMM that makes t along an axis of t. If t is the sum of two results, it streams both GEMMs and the
// sum. If elementwise operations follow the GEMM, such as its scales, it streams them, too. It reports success.
func streamRows(t *hostir.Tensor, axis int, split domain.Axis, makers map[*hostir.Tensor]hostir.Stmt) bool {
	maker := makers[t]
	from := elementwiseFrom(maker)
	for _, in := range from {
		if !streamRows(in, axis, split, makers) {
			return false
		}
	}
	if len(from) == 0 && (maker == nil || !hostir.IsGEMM(maker) || !slices.Contains(hostir.AxisMap(maker)[0], axis)) {
		return false
	}
	return stream(t, axis, split)
}

// stream makes an axis of a tensor a Stream axis, if the axis is whole and as long as a split axis, and the tensor has no Stream
// axis and is a temporary or an open view. Inputs, outputs and other views keep their axes. It reports success.
func stream(t *hostir.Tensor, axis int, split domain.Axis) bool {
	if !isOpen(t) && t.Role != hostir.Temp || t.Axes[axis].Kind != domain.Serial || t.Axes[axis].Size != split.Size ||
		hostir.StreamAxis(t) >= 0 {
		return false
	}
	t.Axes[axis].Kind = domain.Stream
	return true
}
