package cost

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/packing"
	"github.com/hirgen/hirgen/model/domain"
)

// GEMMSize is the size of a GEMM on one rank: a batch of [M, K] x [K, N].
type GEMMSize struct {
	M, N, K, Batch int64
	DType, Result  domain.DType
	Extra          int64 // bytes that the GEMM reads in addition to its operands, such as an addend
	RowA, RowB     int64 // leading dimensions of A and B in memory, in elements
	typeB          domain.DType
	transposed     bool // B is stored as [N, K]
	rowScales      bool // the GEMM multiplies the result by scales of rows and of columns
	blockScales    bool // the GEMM multiplies the sums of blocks by their scales
}

// gemm describes how a GEMM runs. Each SM computes its tiles one after the other. floor is the least time of the GEMM,
// because of memory and power. Times are in microseconds.
type gemm struct {
	tiles int64
	tile  float64 // microseconds of one tile on one SM
	floor float64
	after float64 // time after the tiles: the split-K reduction, copies of packed operands, and a kernel that scales rows
}

// on returns the time of a GEMM on that many SMs.
func (g gemm) on(sms float64) float64 {
	free := max(1, int64(sms+1e-9))
	return max(g.floor, float64((g.tiles+free-1)/free)*g.tile) + g.after
}

// busy returns how long a GEMM would take if all SMs were always busy.
func (g gemm) busy(sms int) float64 { return float64(g.tiles) * g.tile / float64(sms) }

// used returns the share of the SMs that are busy on average.
func (g gemm) used(sms int) float64 {
	waves := (g.tiles + int64(sms) - 1) / int64(sms)
	return float64(g.tiles) / float64(waves*int64(sms))
}

// mostSplits limits the split-K parts of a GEMM. cuBLASLt splits the inner extent only of a GEMM with no more tiles
// than SMs.
const mostSplits = 4

// leastUnalignedRows is the number of rows of the smallest tiles of a GEMM whose rows are not aligned.
const leastUnalignedRows = 128

// gemmOf chooses the tiles with which a GEMM is fastest, as the heuristic of cuBLASLt does. With few rows these are
// small tiles, because large ones leave most SMs idle. Or cuBLASLt splits the inner extent (split-K), and adds the
// partial sums at the end.
func (m *Machine) gemmOf(p GEMMSize) gemm {
	rate, best, least := m.gemmRate(p.DType), gemm{}, math.Inf(1)
	problem := p.problem()
	packs := problem.Choose()
	slowdown := problem.Slowdown(packs)
	if slowdown > 1 {
		rate = GEMMRate{rate.Sustained / slowdown, rate.Peak / slowdown}
	}
	if p.rowScales && !m.RowScalesApart {
		rate = GEMMRate{rate.Sustained / rowScalesSlowdown, rate.Peak / rowScalesSlowdown}
	}
	flops := 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Batch)
	memory, added := m.HBM.Time(float64(p.bytes())), m.HBM.Time(float64(p.Extra)) // added is read at the end of each tile
	for _, t := range m.Tiles {
		if slowdown > 1 && t.M < leastUnalignedRows {
			continue
		}
		for split := int64(1); split == 1 || split <= mostSplits && m.Device.Split > 0; split++ {
			tiles := ceil(p.M, t.M) * ceil(p.N, t.N) * p.Batch * split
			one := 2 * float64(t.M) * float64(t.N) * float64(p.K) / float64(split) / (rate.Peak * t.Peak / float64(m.SMs)) / 1e6
			perTile := m.Device.Tile + added*float64(m.SMs)/float64(tiles)
			ends := perTile * float64(tiles) / float64(m.SMs)
			g := gemm{tiles, one + perTile, max(memory, flops/(rate.Sustained*t.Sustained)/1e6+ends), 0}
			if split > 1 {
				g.after = m.Device.Split + float64(p.M*p.N*p.Batch*(split+1)*4)/m.L2/1e3
			}
			if time := g.on(float64(m.SMs)); time < least {
				best, least = g, time
			}
			if tiles > int64(m.SMs) {
				break
			}
		}
	}
	before, after := problem.Copied(packs)
	best.after += m.copiesOf(before) + m.copiesOf(after)
	if p.rowScales && m.RowScalesApart {
		best.after += m.KernelAlone(2 * p.M * p.N * p.Batch * p.Result.Size())
	}
	return best
}

// problem returns the GEMM for package packing, which chooses the operands to copy to aligned rows. It assumes that
// the operands begin at aligned addresses.
func (p GEMMSize) problem() packing.GEMM {
	align := func(row int64, t domain.DType) int64 { return min(16, row&-row*t.Size()) }
	return packing.GEMM{
		M: p.M, N: p.N, K: p.K, Batch: p.Batch, Element: p.DType.Size(), Result: p.Result.Size(), AddsResult: p.Extra > 0,
		AlignA: align(p.RowA, p.DType), AlignB: align(p.RowB, p.DType), AlignC: align(p.N, p.Result),
	}
}

// copiesOf returns the time of a kernel that copies operands, by the bytes that it reads and writes. The
// copies stay in the L2 cache if they fit.
func (m *Machine) copiesOf(bytes int64) float64 {
	switch {
	case bytes == 0:
		return 0
	case bytes/2 <= m.L2Bytes:
		return m.Device.Kernel + float64(bytes)/m.L2/1e3
	default:
		return m.Device.Kernel + m.HBM.Time(float64(bytes))
	}
}

// bytes returns the least bytes that a GEMM reads and writes.
func (p GEMMSize) bytes() int64 {
	return p.Batch*(p.DType.Size()*(p.M*p.K+p.K*p.N)+p.Result.Size()*p.M*p.N) + p.Extra
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
