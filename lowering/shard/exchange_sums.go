package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// ExchangeSums lets two ranks that both need a whole sum send each other their parts, if shards go from rank to rank over CUDA IPC.
// Each rank adds the received part to its own. This moves as many bytes as an allreduce, but copy engines move them without SMs. An
// allreduce next to GEMMs waits until they release SMs, and takes SMs from the next GEMM. For more than two ranks, the exchange
// would move more bytes than an allreduce. If a kernel is the only reader of the sum, the kernel adds the parts itself
// (SumsInKernels). With fuse: exchange, the pass applies to any number of ranks, and the kernel also sends the parts, if they are
// small.
//
// Requires: every tensor has its Device axes.
// Establishes: if shards move over CUDA IPC, two ranks do not compute a sum that both keep whole by an allreduce. Exceptions
// are sums for which the schedule has separate choices, and sums with a Stream axis or with parts that are not contiguous.
// Schedules that read partial sums of peers in place are exceptions, too.
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
			parts := partsOfAll(names, r)
			body = append(body, &hostir.Set{Info: hostir.InfoFrom(s, "gathered, since each rank adds the parts of all ranks"), Out: parts, In: r.In})
			r.In = parts
		}
		body = append(body, s)
	}
	p.Body = body
	return nil
}

// exchanges reports whether r is a sum that each of its ranks keeps whole, without a Stream axis and with contiguous parts. The
// schedule must move it over CUDA IPC and have no choices for it alone. There must be two ranks, or any number with fuse:
// exchange. With fuse: peer-read it is false.
func exchanges(p *hostir.Program, r *hostir.Reduce) bool {
	summed := r.In.Axes[r.Axis]
	via := p.Choices.Of(r.Out.Name, schedule.Via)
	fuse := p.Choices.Of(r.Out.Name, schedule.Fuse)
	return r.Fn == "sum" && summed.Kind == domain.Device && (summed.Size == 2 || fuse == schedule.Exchange) && SameMesh(r.In, r.Out) &&
		!IsSplit(r.Out) && hostir.StreamAxis(r.Out) < 0 && hostir.StreamAxis(r.In) < 0 && hostir.Outside(r.In, r.Axis) < 0 &&
		!p.Choices.Names(r.Out.Name) && fuse != schedule.PeerRead &&
		(via == schedule.IPCGet || via == schedule.IPCPut)
}

// partsOfAll declares the tensor that holds the parts of all ranks, one slice of a Stream axis for each rank.
func partsOfAll(names *hostir.Namer, r *hostir.Reduce) *hostir.Tensor {
	parts := names.Declare(r.In, "_parts")
	parts.Axes[r.Axis].Kind, parts.Axes[r.Axis].Mesh, parts.Inferred = domain.Stream, "", true
	parts.Layout = outermost(parts, r.Axis) // each part is contiguous, so that one copy can send it
	return parts
}
