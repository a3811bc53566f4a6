package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// ExchangeSums lets two ranks that want a whole sum send each other their parts, where shards go from rank to rank over CUDA
// IPC: each adds what came to its own. It moves as many bytes as an allreduce, by copy engines, which need no SM: an allreduce
// beside GEMMs waits until they leave it SMs, and takes them from the next. More ranks would move more bytes than an
// allreduce does. A kernel that alone reads the sum adds the parts itself (SumsInKernels).
//
// Requires: every tensor has its Device axes.
// Establishes: no two ranks sum what is whole on both by an allreduce, unless the schedule has choices for that sum, or has sums read
// the parts of the peers where they are.
//
//	before: C = Reduce(sum, P, axis 0)                        P [DIDx(2), M, N], C [M, N]
//	after:  P_parts = Set(P); C = Reduce(sum, P_parts, axis 0)    P_parts [Stream(2), M, N]
func ExchangeSums(p *hostir.Program) error {
	if hostir.Allocates(p) || p.Choices.Get(schedule.Pipeline) != schedule.P2P {
		return nil
	}
	names := hostir.NewNamer(p)
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		if r, sums := s.(*hostir.Reduce); sums && exchanges(p, r) {
			parts := partsOfBoth(names, r)
			p.Tensors = append(p.Tensors, parts)
			body = append(body, &hostir.Set{Info: hostir.InfoFrom(s, "each rank has the parts of both, and adds them"), Out: parts, In: r.In})
			r.In = parts
		}
		body = append(body, s)
	}
	p.Body = body
	return nil
}

// exchanges reports whether a Reduce is a sum over two ranks that both have whole, and by copy engines.
func exchanges(p *hostir.Program, r *hostir.Reduce) bool {
	summed := r.In.Axes[r.Axis]
	via := p.Choices.Of(r.Out.Name, schedule.Via)
	return r.Fn == "sum" && summed.Kind == domain.Device && summed.Extent.Size == 2 && SameMesh(r.In, r.Out) && !IsSplit(r.Out) &&
		hostir.StreamAxis(r.Out) < 0 && hostir.StreamAxis(r.In) < 0 && hostir.Outside(r.In, r.Axis) < 0 &&
		!p.Choices.Names(r.Out.Name) && p.Choices.Of(r.Out.Name, schedule.Fuse) != schedule.PeerRead &&
		(via == schedule.IPCGet || via == schedule.IPCPut)
}

// partsOfBoth is the tensor of the parts of a sum, a slice for each rank.
func partsOfBoth(names *hostir.Namer, r *hostir.Reduce) *hostir.Tensor {
	axes := slices.Clone(r.In.Axes)
	axes[r.Axis].Kind, axes[r.Axis].Mesh = domain.Stream, ""
	return &hostir.Tensor{
		Name: names.Fresh(r.In.Name + "_parts"), DType: r.In.DType, Axes: axes, Mesh: r.In.Mesh, Role: hostir.Temp,
		Layout: slices.Clone(r.In.Layout), Inferred: true, Pos: r.In.Pos,
	}
}
