package cost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// A Product is one GEMM, C[m, n] = A[m, k] B[k, n], Batch times. It stands for all GEMMs of the first rank with the same
// position in the spec, N, K, Batch, types, scales and layout of B. If a pipeline splits the rows into several GEMMs, M is
// the sum of their rows.
type Product struct {
	M, N, K, Batch int64
	Transposed     bool // B is stored as [n, k]
	RowScales      bool // the GEMM has a scale for each row of A and each column of B
	BlockScales    bool // the GEMM has scales for the blocks of its operands
	DType          domain.DType
	TypeB, Result  domain.DType // of B and C
	Pos            diag.Pos
	Time           float64 // of its GEMMs, in microseconds; GEMMs that run at the same time divide that time equally
	Peak           float64 // TFLOP/s that the machine's GEMMs reach at most
}

// Flops returns the number of floating-point operations.
func (p Product) Flops() float64 {
	return 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Batch)
}

// TFLOPs returns the predicted rate in TFLOP/s.
func (p Product) TFLOPs() float64 { return p.Flops() / p.Time / 1e6 }

// OfPeak returns the rate in percent of the peak.
func (p Product) OfPeak() float64 { return 100 * p.TFLOPs() / p.Peak }

// Products lists the products of the predicted call, in the order in which the first rank issues the first GEMM of each.
func (p *Prediction) Products() []Product {
	at := map[Product]int{} // by a product without rows
	var list []Product
	var runs []run
	for i := range p.Calls {
		c := &p.Calls[i]
		call, ok := c.Stmt.(*calls.Gemm)
		if !ok || c.Rank != p.Calls[0].Rank {
			continue
		}
		s := p.sizes[call]
		g := Product{N: s.N, K: s.K, Batch: s.Batch, Transposed: s.transposed, RowScales: s.rowScales, BlockScales: s.blockScales,
			DType: s.DType, TypeB: s.typeB, Result: s.Result, Pos: c.Pos, Peak: p.Machine.gemmRate(s.DType).Peak}
		if _, known := at[g]; !known {
			at[g] = len(list)
			list = append(list, g)
		}
		list[at[g]].M += s.M
		runs = append(runs, run{at[g], c.Start, c.End})
	}
	divideTime(runs, list)
	return list
}

// run is a GEMM of a product, by index, and when it runs.
type run struct {
	product    int
	start, end float64
}

// divideTime adds to each product its share of the time in which its GEMMs run. Several GEMMs that run at the same time have equal shares.
func divideTime(runs []run, list []Product) {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.start, b.start) })
	var ends []float64
	for _, r := range runs {
		ends = append(ends, r.start, r.end)
	}
	slices.Sort(ends)
	var running []run
	for i := 1; i < len(ends); i++ {
		from, to := ends[i-1], ends[i]
		for len(runs) > 0 && runs[0].start <= from {
			running, runs = append(running, runs[0]), runs[1:]
		}
		running = slices.DeleteFunc(running, func(r run) bool { return r.end <= from })
		for _, r := range running {
			list[r.product].Time += (to - from) / float64(len(running))
		}
	}
}
