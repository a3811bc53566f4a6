package interp

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// exchange moves the data of a meeting. It reads the inputs of all ranks before it writes any output. Messages and collectives
// move buffers in memory order.
func (m *meeting) exchange() error {
	parts := slices.Clone(m.parts)
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Compare(slices.Index(m.team, a.rank.number), slices.Index(m.team, b.rank.number))
	})
	switch s := m.parts[0].stmt.(type) {
	case *hostir.P2PCommunication:
		return pass(parts[0], parts[1])
	case *hostir.Communication:
		if s.Type == collective.SendRecv && len(parts) == 2 {
			return pass(parts[0], parts[1])
		}
		return collect(s, parts)
	default:
		return reshard(s, parts)
	}
}

// collect performs a collective.
func collect(s *hostir.Communication, parts []*part) error {
	form := s.Type.Row().Form
	_, received := form.Slices(int64(len(parts)))
	in := make([][]float64, len(parts))
	for q, p := range parts {
		if p.in[0] == nil {
			continue // it has no part of the operand
		}
		memory, ok := p.in[0].contiguous()
		if !ok {
			return p.rank.fail(p.stmt, "the operand is not contiguous")
		}
		in[q] = slices.Clone(memory)
	}
	for q, p := range parts {
		if p.out == nil {
			continue // it has no part of the result
		}
		out, ok := p.out.contiguous()
		if !ok {
			return p.rank.fail(p.stmt, "the result is not contiguous")
		}
		data, err := form.Deliver(in, int64(len(out))/received, int64(q), p.root, collective.InFP32(s.ReduceFn, s.Out.DType))
		if err != nil {
			return p.rank.fail(p.stmt, "%v", err)
		}
		copy(out, data)
	}
	return nil
}

// pass moves a message from one rank to another.
func pass(from, to *part) error {
	source, ok := from.in[0].contiguous()
	target, ok2 := to.in[0].contiguous()
	if !ok || !ok2 {
		return from.rank.fail(from.stmt, "the buffers are not contiguous")
	}
	copy(target, source)
	return nil
}
