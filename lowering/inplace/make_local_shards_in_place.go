package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// MakeLocalShardsInPlace computes a rank's local shard directly in the buffer that the rank gathers into, if the
// schedule has local_shard: in-place. The separate buffer of the shard, which was copied to the gathered buffer,
// becomes a view of its slice there. Peers read the shard from the gathered buffer, or the rank sends it from that
// buffer.
//
// Requires: a separate step copies the local shard; peers write only the other slices.
// Establishes: with local_shard: in-place, a local slice is not copied if the program computes it in a buffer that
// satisfies fits.
//
//	before: R = Allocate; R = Reduce(sum, P_parts, axis 0); C = Allocate
//	        For s: (If s == 0: C_s = Set(R_s) Else: (send R, receive C_s))
//
//	after:  C = Allocate; R = Reduce(sum, P_parts, axis 0), with R = Select(C, axis 0, index rank, parts D)
//	        For s in 1..D: (send R, receive C_s)
func MakeLocalShardsInPlace(p *hostir.Program) error {
	if p.Choices.Get(schedule.LocalShard) != schedule.InPlace {
		return nil
	}
	o := &localShards{motion: newMotion(p), allocates: map[*hostir.Tensor]*hostir.Allocate{}}
	for _, s := range p.Body {
		if a, ok := s.(*hostir.Allocate); ok {
			o.allocates[a.Tensor] = a
		}
	}
	for _, s := range slices.Clone(p.Body) {
		if loop, ok := s.(*hostir.For); ok {
			o.loop(loop)
		}
	}
	return nil
}

// localShards finds the copies of local shards.
type localShards struct {
	*motion
	allocates map[*hostir.Tensor]*hostir.Allocate // allocations outside of loops
}

// loop removes those copies of local shards from a loop that fits allows, and makes the local shards views.
func (o *localShards) loop(loop *hostir.For) {
	var copies []*hostir.Set
	for branch := range hostir.Each[*hostir.If](loop.Body) {
		if isEquality(branch.Cond) {
			for _, inner := range branch.Body {
				if set, ok := inner.(*hostir.Set); ok {
					copies = append(copies, set)
				}
			}
		}
	}
	for _, set := range copies {
		from, to := outermost(set.In), outermost(set.Out)
		if from == nil || to == nil || !o.fits(from, to) {
			continue
		}
		o.place(set, from, to)
		o.ways[set] = dropped
		o.leave(loop)
	}
}

// isEquality reports whether a condition is an equality, as is the condition that selects the steps of the local shard.
func isEquality(cond expr.Expr) bool {
	c, ok := cond.(*expr.Binary)
	return ok && c.Op == "=="
}

// fits reports whether a copied buffer can be a view of the slice that it is copied to. The buffer must contain the
// whole shard of the rank and nothing else.
func (o *localShards) fits(from, to *hostir.Select) bool {
	local, all := from.In, to.In
	if from.Parts != 0 || to.Parts != 0 || local.Role != hostir.Temp || all.Role == hostir.View || local.Mesh != all.Mesh ||
		o.allocates[local] == nil || o.allocates[all] == nil {
		return false
	}
	split, whole := local.Axes[from.Axis], all.Axes[to.Axis]
	if split.Kind != domain.Device || whole.LocalSize() != split.Size || hostir.Outside(all, to.Axis) >= 0 {
		return false
	}
	slice := *all
	slice.Axes = slices.Clone(all.Axes)
	slice.Axes[to.Axis] = split
	return hostir.SameLayout(local, &slice)
}

// place makes the buffer of the local shard a view of the buffer of all slices, and allocates that buffer early enough.
func (o *localShards) place(set *hostir.Set, from, to *hostir.Select) {
	local, all := from.In, to.In
	along := ranks.Along(local.Mesh, local.Axes[from.Axis].Mesh)
	local.Role, local.Of = hostir.View, &hostir.Select{
		Info: hostir.InfoFrom(set, "computed in place: this rank's slice of the gathered tensor"), Out: local, In: all, Axis: to.Axis,
		Index: along.Coordinate, Parts: along.Size,
	}
	p := o.program
	before := slices.Index(p.Body, hostir.Stmt(o.allocates[local]))
	after := slices.Index(p.Body, hostir.Stmt(o.allocates[all]))
	if after > before {
		p.Body = slices.Delete(p.Body, after, after+1)
		p.Body[before] = o.allocates[all]
	} else {
		p.Body = slices.Delete(p.Body, before, before+1)
	}
	delete(o.allocates, local)
}
