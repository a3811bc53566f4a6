package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// MakeLocalShardsInPlace lets what ranks gather be made where the slices of the others arrive, as
// local_shard: in-place asks for: a buffer whose one purpose was to be copied there becomes a view of the
// rank's local shard. Peers read it, or it is sent, from there.
//
// Requires: what a rank gathers of its own is copied in a step of its own; peers write the other
// slices alone.
// Establishes: with local_shard: in-place, a slice that the program itself makes in a buffer that lies as
// the slice does is not copied.
//
//	before: R = Allocate; R = Reduce(sum, P_parts, axis 0); C = Allocate
//	        For s: (If s == 0: C_s = Set(R_s) Else: (send R, receive C_s))
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
	allocates map[*hostir.Tensor]*hostir.Allocate // that are no part of a loop
}

// loop takes the copies of local shards out of a loop, and then what only they needed.
func (o *localShards) loop(loop *hostir.For) {
	var copies []*hostir.Set
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if branch, ok := s.(*hostir.If); ok && isEquality(branch.Cond) {
			for _, inner := range branch.Body {
				if set, ok := inner.(*hostir.Set); ok {
					copies = append(copies, set)
				}
			}
		}
		return true
	})
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

// isEquality reports whether a condition singles out one step.
func isEquality(cond expr.Expr) bool {
	c, ok := cond.(*expr.Binary)
	return ok && c.Op == "=="
}

// fits reports whether what a copy takes from a buffer, all that a rank has, may lie in the slice
// that it goes to.
func (o *localShards) fits(from, to *hostir.Select) bool {
	local, all := from.In, to.In
	if from.Parts != 0 || to.Parts != 0 || local.Role != hostir.Temp || all.Role == hostir.View || local.Mesh != all.Mesh ||
		o.allocates[local] == nil || o.allocates[all] == nil {
		return false
	}
	split, whole := local.Axes[from.Axis], all.Axes[to.Axis]
	if split.Kind != domain.Device || whole.LocalSize() != split.Extent.Size || hostir.Outside(all, to.Axis) >= 0 {
		return false
	}
	slice := *all
	slice.Axes = slices.Clone(all.Axes)
	slice.Axes[to.Axis] = split
	return hostir.SameLayout(local, &slice)
}

// place makes the buffer of local shards a view of all slices, which are allocated before.
func (o *localShards) place(set *hostir.Set, from, to *hostir.Select) {
	local, all := from.In, to.In
	along := ranks.Along(local.Mesh, local.Axes[from.Axis].Mesh)
	local.Role, local.Of = hostir.View, &hostir.Select{
		Info: hostir.InfoFrom(set, "made where the shards of the other ranks arrive"), Out: local, In: all, Axis: to.Axis, Index: along.Coordinate, Parts: along.Size,
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
