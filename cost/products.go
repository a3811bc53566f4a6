package cost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// A Product is everything that the first rank multiplies for one operation of the spec, as one GEMM: C[m, n]
// = A[m, k] B[k, n], Batch times. If a pipeline cuts its rows into pieces, it is their sum.
type Product struct {
	M, N, K, Batch int64
	Transposed     bool // B is stored as [n, k]
	DType          domain.DType
	Pos            diag.Pos
}

// Products lists the products of a call in the order in which they begin.
func (p *Prediction) Products() []Product {
	type group struct {
		pos        diag.Pos
		n, k       int64
		batch      int64
		transposed bool
	}
	at := map[group]int{}
	var list []Product
	for i := range p.Calls {
		c := &p.Calls[i]
		call, ok := c.Stmt.(*calls.Gemm)
		if !ok || c.Rank != p.Calls[0].Rank {
			continue
		}
		s := p.sizes[call]
		g := group{c.Pos, s.N, s.K, s.Batch, s.transposed}
		if _, known := at[g]; !known {
			at[g] = len(list)
			list = append(list, Product{N: s.N, K: s.K, Batch: s.Batch, Transposed: s.transposed, DType: s.DType, Pos: c.Pos})
		}
		list[at[g]].M += s.M
	}
	return list
}
