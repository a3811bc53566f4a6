package cost

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/domain"
)

// GEMMTime is the time of a GEMM in bf16 alone, in microseconds.
func (m *Machine) GEMMTime(rows, columns, inner int64) float64 {
	w := m.gemmWork(denseGEMM(rows, columns, inner))
	return w.fixed + w.alone
}

// CollectiveTime is the time of a collective of adjacent ranks alone, whose larger side has so many bytes on a rank.
func (m *Machine) CollectiveTime(kind collective.Type, bytes int64, ranks int) float64 {
	in, out := float64(bytes), float64(bytes)
	switch kind {
	case collective.Allgather:
		in /= float64(ranks)
	case collective.ReduceScatter:
		out /= float64(ranks)
	}
	members := make([]int32, ranks)
	for i := range members {
		members[i] = int32(i)
	}
	return m.collective(kind.Row().Form, in, out, m.spreadOf(members)).alone
}

// denseGEMM is one GEMM of dense rows in bf16.
func denseGEMM(m, n, k int64) GEMMSize {
	return GEMMSize{M: m, N: n, K: k, Batch: 1, DType: domain.BF16, Result: domain.BF16, RowA: k, RowB: n}
}
