package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// exchange moves the data of a meeting. It reads the inputs of all ranks before it writes any output. It moves buffers in memory
// order.
func (m *meeting) exchange() error {
	parts := slices.Clone(m.parts)
	slices.SortFunc(parts, func(a, b *part) int {
		return cmp.Compare(slices.Index(m.team, a.rank.number), slices.Index(m.team, b.rank.number))
	})
	switch s := m.parts[0].stmt.(type) {
	case *hostir.P2PCommunication:
		return pass(parts[0], parts[1])
	case *hostir.Communication:
		if s.Type == hostir.SendRecv && len(parts) == 2 {
			return pass(parts[0], parts[1])
		}
		return collect(s, parts)
	default:
		return reshard(s, parts)
	}
}

// collect performs a collective.
func collect(s *hostir.Communication, parts []*part) error {
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
		if err := deliver(s, p.root, in, out, q); err != nil {
			return p.rank.fail(p.stmt, "%v", err)
		}
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

// deliver writes what team rank q gets out of a collective.
func deliver(s *hostir.Communication, root int64, in [][]float64, out []float64, q int) error {
	isRoot, team := int64(q) == root, len(in)
	if root >= int64(team) {
		return fmt.Errorf("there is no root %d among %d ranks", root, team)
	}
	if sends := s.Type == hostir.BroadcastComm || s.Type == hostir.Scatter; sends && in[root] == nil {
		return fmt.Errorf("the root %d has no part of %s", root, s.In.Name)
	}
	switch s.Type {
	case hostir.Allgather:
		copy(out, slices.Concat(in...))
	case hostir.Gather:
		if isRoot {
			copy(out, slices.Concat(in...))
		}
	case hostir.BroadcastComm:
		copy(out, in[root])
	case hostir.SendRecv:
		copy(out, in[q])
	case hostir.Scatter:
		copy(out, in[root][q*len(out):])
	case hostir.AllToAll:
		block := len(out) / team
		for from := range in {
			copy(out[from*block:(from+1)*block], in[from][q*block:])
		}
	case hostir.Allreduce:
		return fold(s, in, out, 0)
	case hostir.Reduction:
		if isRoot {
			return fold(s, in, out, 0)
		}
	case hostir.ReduceScatter:
		return fold(s, in, out, q*len(out))
	default:
		return fmt.Errorf("the interpreter does not know %s", s.Type)
	}
	return nil
}

// fold reduces len(out) elements of every rank's input from first on.
func fold(s *hostir.Communication, in [][]float64, out []float64, first int) error {
	fn := domain.BinaryFns[s.ReduceFn]
	if fn == nil {
		return fmt.Errorf("there is no function %q", s.ReduceFn)
	}
	for i := range out {
		value := in[0][first+i]
		for _, other := range in[1:] {
			value = float64(float32(fn(value, other[first+i])))
		}
		out[i] = s.Out.DType.Round(value)
	}
	return nil
}
