package cost

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/domain"
)

// GEMMTime returns the time of a bf16 GEMM while nothing else runs, in microseconds.
func (m *Machine) GEMMTime(rows, columns, inner int64) float64 {
	w := m.gemmWork(denseGEMM(rows, columns, inner))
	return w.fixed + w.alone
}

// CollectiveTime returns the time of a collective of adjacent ranks while nothing else runs, in microseconds. bytes is
// the size of its larger side on a rank.
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

// denseGEMM returns the size of one bf16 GEMM with dense rows.
func denseGEMM(m, n, k int64) GEMMSize {
	return GEMMSize{M: m, N: n, K: k, Batch: 1, DType: domain.BF16, Result: domain.BF16, RowA: k, RowB: n}
}
