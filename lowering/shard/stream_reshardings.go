package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// StreamReshardings makes pipelines of gathers and sums in a spec that names no Stream axis, where the schedule sends
// shards from rank to rank: a rank multiplies the rows of one rank while those of the next are on their way, and sends
// parts of a sum as they are made.
//
//   - A GEMM whose rows are split over ranks in its operand, and whole in its result, runs along them. So does a Set of
//     SplitRows that gathers them.
//   - So does a GEMM whose result is summed over ranks, along the rows that the sum leaves on a rank each, and GEMMs whose results
//     are added first.
//
// What is between them follows, as PropagateShardings says, but for views that are read as a whole. A spec with a Stream axis says itself what is a pipeline.
//
// Requires: every tensor has its Device axes.
// Establishes: what crosses ranks beside a GEMM is a pipeline, in a program of pipelines.
//
//	before: Z = Linear(X, W)    X [DIDx(D), m, K], Z [D, m, N] inferred
//	after:  Z = Linear(X, W)    Z [Stream(D), m, N] inferred
func StreamReshardings(p *hostir.Program) error {
	if !namesNoPipeline(p) {
		return nil
	}
	makers, found := map[*hostir.Tensor]hostir.Stmt{}, false
	for _, s := range p.Body {
		if out := hostir.Result(s); out != nil {
			makers[out] = s
		}
		found = streamGathered(s) || found
		found = streamSummed(s, makers) || found
	}
	if !found {
		return nil
	}
	pr := newPropagation(p)
	pr.wholeViews = true // slices of it would be copied
	return pr.run()
}

// namesNoPipeline reports whether a program is one of pipelines, none of which the spec names.
func namesNoPipeline(p *hostir.Program) bool {
	streams := func(t *hostir.Tensor) bool { return hostir.StreamAxis(t) >= 0 }
	return !hostir.Allocates(p) && p.Choices.Get(schedule.Pipeline) == schedule.P2P && !slices.ContainsFunc(p.Tensors, streams)
}

// streamGathered has a GEMM run along the rows of its result that ranks have a part of each in its operand.
func streamGathered(s hostir.Stmt) bool {
	if _, moves := s.(*hostir.Set); !moves && !hostir.IsGEMM(s) {
		return false
	}
	operand, row := hostir.Uses(s)[0], hostir.AxisMap(s)[0]
	for i, a := range operand.Axes {
		if hostir.SplitOver(a) != "" && row[i] != hostir.Unmapped && stream(hostir.Result(s), row[i], a) {
			return true
		}
	}
	return false
}

// streamSummed has a GEMM run along the rows of which a sum over ranks leaves a part on each.
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

// streamRows has the GEMM that makes a tensor run along an axis of it, or those whose results it is the sum of.
func streamRows(t *hostir.Tensor, axis int, split domain.Axis, makers map[*hostir.Tensor]hostir.Stmt) bool {
	maker := makers[t]
	if sum, adds := maker.(*hostir.Binary); adds && sum.Fn == "add" && hostir.SameAxes(sum.A, t) && hostir.SameAxes(sum.B, t) {
		return streamRows(sum.A, axis, split, makers) && streamRows(sum.B, axis, split, makers) && stream(t, axis, split)
	}
	return maker != nil && hostir.IsGEMM(maker) && slices.Contains(hostir.AxisMap(maker)[0], axis) && stream(t, axis, split)
}

// stream makes a whole axis of an open tensor, as long as one that is split, a Stream axis.
func stream(t *hostir.Tensor, axis int, split domain.Axis) bool {
	if !isOpen(t) || t.Axes[axis].Kind != domain.Serial || t.Axes[axis].Extent.Size != split.Extent.Size || hostir.StreamAxis(t) >= 0 {
		return false
	}
	t.Axes[axis].Kind = domain.Stream
	return true
}
