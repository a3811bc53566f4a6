package fromhost

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Libraries and kernel launches limit the size of one call on one rank; docs/spec.md has a table. Elementwise kernels,
// reductions, copies and communications accept any tensor.
const (
	mostOfGemm  = math.MaxInt32     // limit of rows, columns, terms of a sum and batches of a GEMM, which cuBLASLt counts in int
	mostOfHeads = math.MaxInt32     // limit of rows of an attention, which cuDNN counts in int
	rowsOfTile  = 64                // rows in a tile of an attention
	mostTiles   = math.MaxInt32 / 2 // limit of tiles: a backward pass launches up to two blocks of threads for each tile
)

// Hints in errors about specs beyond a limit.
const (
	fewerRows  = "split an axis of the result over ranks, or compute it in slices, an axis Stream(S)"
	fewerTerms = "split the axis over ranks, and add the partial sums with sum"
	fewerCalls = "give both operands all batches, one after the other in memory: one call then has all"
	fewerKeys  = "split the keys, or the batches and heads, over ranks"
)

// gemmFits refuses a GEMM with an extent beyond mostOfGemm, or with more calls than a loop may have.
func (b *builder) gemmFits(s hostir.Stmt, p gemm) {
	calls := p.gemms().Size / p.batch.Size
	tooMany(s, "rows of a GEMM", p.m.Size, mostOfGemm, fewerRows)
	tooMany(s, "columns of a GEMM", p.n.Size, mostOfGemm, fewerRows)
	tooMany(s, "terms of each sum of a GEMM", p.k.Size, mostOfGemm, fewerTerms)
	tooMany(s, "GEMMs in one call", p.batch.Size, mostOfGemm, fewerRows)
	tooMany(s, "calls in a loop", calls, domain.MostCalls, fewerCalls)
}

// headsFit refuses an attention with too many rows, too many tiles of rows, or more calls than a loop may have.
func (a *attended) headsFit() {
	batches, calls := int64(1), int64(1) // batches in each call, and number of calls
	for _, extent := range a.batches.extents {
		calls, batches = calls*batches, extent.Size
	}
	for _, t := range []*hostir.Tensor{a.stmt.Queries(), a.stmt.Keys()} {
		dims := a.of(t).dims
		heads, rows := dims[len(dims)-3].extent.Size, dims[len(dims)-2].extent.Size
		tiles := batches * heads * ((rows + rowsOfTile - 1) / rowsOfTile)
		tooMany(a.stmt, "rows of a head of an attention", rows, mostOfHeads, fewerKeys)
		tooMany(a.stmt, "tiles of 64 rows of an attention", tiles, mostTiles, fewerKeys)
	}
	tooMany(a.stmt, "calls in a loop", calls, domain.MostCalls, fewerCalls)
}

// tooMany refuses a program if count exceeds most.
func tooMany(s hostir.Stmt, what string, count, most int64, hint string) {
	if count <= most {
		return
	}
	var list diag.List
	list.Add(s.Meta().Pos, diag.TooLong, "a rank has %d %s, and at most %d are possible", count, what, most).WithHint("%s", hint)
	refuse(list.Err())
}
