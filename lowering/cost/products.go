package cost

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
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
		if c.Kind != GEMM || c.Rank != p.Calls[0].Rank || !hostir.IsGEMM(c.Stmt) {
			continue
		}
		_, linear := c.Stmt.(*hostir.Linear)
		s := gemmShapeOf(c.Stmt)
		g := group{c.Pos, s.n, s.k, s.batch, linear}
		if _, known := at[g]; !known {
			at[g] = len(list)
			list = append(list, Product{N: s.n, K: s.k, Batch: s.batch, Transposed: linear, DType: s.dtype, Pos: c.Pos})
		}
		list[at[g]].M += s.m
	}
	return list
}
