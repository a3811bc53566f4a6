package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// SendParts lets ranks send each other the parts of a gather or an all-to-all, if shards go from rank to rank over CUDA IPC. One
// kernel then writes parts of at most domain.MostExchanged bytes straight to the memory of the peers, which takes less time than a
// collective. Parts of an output arrive in a temporary, which make-outputs-in-place may remove.
//
// Requires: a movement is one step, or local.
// Establishes: if shards are put over CUDA IPC, a gather or an all-to-all of small parts along one mesh axis is a pipeline over the
// ranks that send. Exceptions are tensors with a Stream axis, and movements whose schedule has a ring, brackets or sub-chunks.
//
//	before: B = Set(A)                          A [DIDx(D), D, M], B [D, DIDx(D), M]
//	after:  B_parts = Set(A); B = Set(B_parts)      B_parts [Stream(D), DIDx(D), M]
func SendParts(p *hostir.Program) error {
	if hostir.Allocates(p) || p.Choices.Get(schedule.Pipeline) != schedule.P2P {
		return nil
	}
	names, moves, moved := hostir.NewNamer(p), hostir.Communications(p), movedAgain(p)
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		body = append(body, s)
		if !Reshards(s) || !sendsParts(p, s, moves(s)) {
			continue
		}
		m := Describe(s)
		gathered := m.Row[m.Shifts[0].From]
		if m.Out.Role == hostir.Temp && !moved[m.Out] && isOutermost(m.Out, gathered, streamed(m.Out)) {
			m.Out.Axes[gathered].Kind = domain.Stream
			continue
		}
		parts := partsOfPeers(names, m.Out, gathered)
		p.Tensors = append(p.Tensors, parts)
		hostir.ReplaceDef(s, m.Out, parts)
		body = append(body, &hostir.Set{Info: hostir.InfoFrom(s, "the parts of all ranks"), Out: m.Out, In: parts})
	}
	p.Body = body
	return nil
}

// sendsParts reports whether s is a gather or an all-to-all of small parts that the schedule moves by IPC-put, in whole parts.
func sendsParts(p *hostir.Program, s hostir.Stmt, name string) bool {
	set, moves := s.(*hostir.Set)
	if !moves || !SameMesh(set.In, set.Out) || hostir.StreamAxis(set.In) >= 0 || hostir.StreamAxis(set.Out) >= 0 {
		return false
	}
	m := Describe(s)
	if len(m.Shifts) != 1 || m.Shifts[0].From == NoAxis {
		return false
	}
	of := func(field string) string { return p.Choices.Of(name, field) }
	bytes, parts := set.In.DType.Size(), int64(1)
	for _, size := range hostir.LocalShape(set.In) {
		bytes *= size
	}
	if m.Shifts[0].To != NoAxis {
		parts = set.In.Axes[m.Shifts[0].From].Size
	}
	return of(schedule.Via) == schedule.IPCPut && of(schedule.Split) == "1" && of(schedule.Steps) != schedule.Ring &&
		of(schedule.Steps) != schedule.Bracket && m.Shifts[0].Mesh != p.Choices.Get(schedule.Nodes) &&
		bytes <= domain.MostExchanged*parts
}

// movedAgain returns the operands of statements that move data between ranks.
func movedAgain(p *hostir.Program) map[*hostir.Tensor]bool {
	moved := map[*hostir.Tensor]bool{}
	for _, s := range p.Body {
		if Reshards(s) {
			moved[hostir.Uses(s)[0]] = true
		}
	}
	return moved
}

// partsOfPeers returns a tensor for the parts of the result of a movement. The gathered axis of the result is a Stream axis, and the
// outermost one, so the part of each rank is contiguous.
func partsOfPeers(names *hostir.Namer, out *hostir.Tensor, gathered int) *hostir.Tensor {
	parts := &hostir.Tensor{
		Name: names.Fresh(out.Name + "_parts"), DType: out.DType, Axes: slices.Clone(out.Axes), Mesh: out.Mesh, Role: hostir.Temp,
		Layout: slices.Clone(hostir.Layout(out)), Inferred: true, Pos: out.Pos,
	}
	parts.Axes[gathered].Kind = domain.Stream
	parts.Layout = outermost(parts, gathered)
	return parts
}
