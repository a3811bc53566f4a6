package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// SendParts lets ranks send each other the parts of a gather, an all-to-all or a scattered sum, if shards go from rank to rank over
// CUDA IPC. One kernel then writes parts of at most domain.MostExchanged bytes straight to the memory of the peers, which takes less
// time than a collective. Parts of an output arrive in a temporary, which make-outputs-in-place may remove. A rank adds the parts of
// a sum itself, or the kernel that reads the sum adds them (SumsInKernels).
//
// Requires: a movement is one step, or local.
// Establishes: if shards are put over CUDA IPC, a gather, an all-to-all or a reduce-scatter of small parts along one mesh axis is a
// pipeline over the ranks that send. Exceptions are tensors with a Stream axis, movements along the mesh axis that connects nodes
// (nodes), and movements whose schedule has a ring, brackets or sub-chunks. So are sums that have separate choices in the schedule,
// or read the parts of peers in place.
//
//	before: B = Set(A)                          A [DIDx(D), D, M], B [D, DIDx(D), M]
//	after:  B_parts = Set(A); B = Set(B_parts)      B_parts [Stream(D), DIDx(D), M]
//
//	before: C = Reduce(sum, P, axis 0)                          P [DIDx(D), D, M], C [DIDx(D), M]
//	after:  P_parts = Set(P); C = Reduce(sum, P_parts, axis 0)      P_parts [Stream(D), DIDx(D), M]
func SendParts(p *hostir.Program) error {
	if hostir.Allocates(p) || p.Choices.Get(schedule.Pipeline) != schedule.P2P {
		return nil
	}
	names, moves, moved := hostir.NewNamer(p), hostir.Communications(p), movedAgain(p)
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		m, sends := sentParts(p, s, moves)
		if r, sums := s.(*hostir.Reduce); sums && sends {
			body = append(body, sumLocally(names, r, m))
		}
		body = append(body, s)
		if m.Reduce != "" || !sends {
			continue
		}
		gathered := m.Row[m.Shifts[0].From]
		if m.Out.Role == hostir.Temp && !moved[m.Out] && isOutermost(m.Out, gathered, streamed(m.Out)) {
			m.Out.Axes[gathered].Kind = domain.Stream
			continue
		}
		parts := partsOfPeers(names, m.Out, gathered)
		hostir.ReplaceDef(s, m.Out, parts)
		body = append(body, &hostir.Set{Info: hostir.InfoFrom(s, "the parts of all ranks"), Out: m.Out, In: parts})
	}
	p.Body = body
	return nil
}

// sentParts returns the movement of s. sends is true for a gather, an all-to-all, or a sum that leaves each rank its part. The schedule
// must move its small parts by IPC-put, as a whole, and not between nodes. A sum for which the schedule has separate choices keeps
// its collective.
func sentParts(p *hostir.Program, s hostir.Stmt, moves func(hostir.Stmt) string) (m Movement, sends bool) {
	if !Reshards(s) || !SameMesh(hostir.Uses(s)[0], hostir.Result(s)) {
		return m, false
	}
	m = Describe(s)
	if len(m.Shifts) != 1 || m.Shifts[0].From == NoAxis || hostir.StreamAxis(m.In) >= 0 || hostir.StreamAxis(m.Out) >= 0 {
		return m, false
	}
	name := moves(s)
	of := func(field string) string { return p.Choices.Of(name, field) }
	if m.Reduce != "" && (m.Reduce != "sum" || m.Shifts[0].To == NoAxis || p.Choices.Names(name) || of(schedule.Fuse) == schedule.PeerRead) {
		return m, false
	}
	bytes, parts := m.In.DType.Size(), int64(1)
	for _, size := range hostir.LocalShape(m.In) {
		bytes *= size
	}
	if m.Shifts[0].To != NoAxis {
		parts = m.In.Axes[m.Shifts[0].From].Size
	}
	return m, of(schedule.Via) == schedule.IPCPut && of(schedule.Split) == "1" && of(schedule.Steps) != schedule.Ring &&
		of(schedule.Steps) != schedule.Bracket && m.Shifts[0].Mesh != p.Choices.Get(schedule.Nodes) &&
		bytes <= domain.MostExchanged*parts
}

// sumLocally makes r a local sum of the parts that a rank receives, and returns the all-to-all of the parts.
func sumLocally(names *hostir.Namer, r *hostir.Reduce, m Movement) hostir.Stmt {
	parts, scattered := partsOfAll(names, r), m.Scattered()
	parts.Axes[scattered].Place(domain.Device, m.Shifts[0].Mesh)
	parts.Layout = packed(m, scattered) // the order of the result
	parts.Layout = outermost(parts, r.Axis)
	send := &hostir.Set{Info: hostir.InfoFrom(r, "sent, since each rank adds up its parts of the sum"), Out: parts, In: r.In}
	r.In = parts
	return send
}

// movedAgain returns the operands of resharding statements (see Reshards).
func movedAgain(p *hostir.Program) map[*hostir.Tensor]bool {
	moved := map[*hostir.Tensor]bool{}
	for _, s := range p.Body {
		if Reshards(s) {
			moved[hostir.Uses(s)[0]] = true
		}
	}
	return moved
}

// partsOfPeers declares a tensor for the parts of the result of a movement. The gathered axis of the result is a Stream axis, and the
// outermost one, so the part of each rank is contiguous.
func partsOfPeers(names *hostir.Namer, out *hostir.Tensor, gathered int) *hostir.Tensor {
	parts := names.Declare(out, "_parts")
	parts.Axes[gathered].Kind, parts.Inferred = domain.Stream, true
	parts.Layout = outermost(parts, gathered)
	return parts
}
