package cost

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// GEMMTime is the time of a GEMM in bf16 alone, in microseconds.
func (m *Machine) GEMMTime(rows, columns, inner int64) float64 {
	w := m.gemmWork(denseGEMM(rows, columns, inner))
	return w.fixed + w.alone
}

// AcrossNodes is the time of a collective of adjacent ranks from the first on, alone.
func (m *Machine) AcrossNodes(s *hostir.Communication) float64 {
	var members []int32
	for i := range s.TeamSize() {
		members = append(members, int32(i))
	}
	return m.collective(s, m.spreadOf(members)).alone
}

// CollectiveTime is the time of a collective alone.
func (m *Machine) CollectiveTime(s *hostir.Communication) float64 {
	return m.collective(s, spread{1, int(s.TeamSize())}).alone
}

// denseGEMM is one GEMM of dense rows in bf16.
func denseGEMM(m, n, k int64) gemmShape {
	return gemmShape{m: m, n: n, k: k, batch: 1, dtype: domain.BF16, result: domain.BF16, rowA: k, rowB: n}
}
