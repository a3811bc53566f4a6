// Package packing predicts how long GEMMs with unaligned rows take, and when it is faster to copy their matrices to aligned
// rows. On Hopper GPUs, cuBLASLt uses fast loads for 16-bit operands only under two conditions: all rows begin at
// multiples of 16 bytes, and the number of columns of the result is a multiple of 8. Other GEMMs take several times as
// long. docs/design/packed-gemms.md has the measurements.
package packing

import "math"

// GEMM is a batch of C[m, n] = A[m, k] B[k, n].
type GEMM struct {
	M, N, K, Batch         int64
	SharedA, SharedB       bool  // all batches use one matrix A, or B
	Element, Result        int64 // bytes of an element of the operands, and of the result
	AlignA, AlignB, AlignC int64 // alignment in bytes that the beginnings of all rows have
	AddsResult             bool  // a matrix with the layout of C is added
	RowScales              bool  // rows of A and columns of B have scales, which are copied if they are not aligned
}

// Packs lists the matrices of a GEMM that have a copy with aligned rows. If C has one, so has B, because the numbers of
// columns of both are rounded up.
type Packs struct{ A, B, C bool }

// Any reports whether at least one matrix is copied.
func (p Packs) Any() bool { return p.A || p.B || p.C }

const (
	aligned   = 16  // bytes
	elements  = 8   // elements of 16 bits in 16 bytes
	workspace = 256 // alignment of each copy in bytes
	pays      = 0.9 // copies are made if they reduce the time to at most this fraction

	// Rates and sizes of an H100. The choice depends little on the GPU, because the rates of other GPUs have similar
	// ratios.
	flops  = 6e8   // operations of an aligned GEMM per microsecond
	memory = 2.6e6 // bytes read and written in memory per microsecond
	cached = 4e6   // bytes read and written in the L2 cache per microsecond
	cache  = 30e6  // most bytes that a copy reads and writes in the L2 cache
	launch = 2.2   // microseconds to launch a kernel
	sms    = 132
	tile   = 128 // rows and columns of the tile that an SM computes
	splits = 4   // the most parts of K that SMs sum separately, if there are few tiles
)

// Slowdown returns the factor by which the unaligned rows of matrices that are not in p slow down a GEMM. It is 1 if
// there are none, or if the operands do not have 16 bits.
func (g GEMM) Slowdown(p Packs) float64 {
	if g.Element != 2 {
		return 1 // fp32 loads do not depend on alignment, and GEMMs of 8 bits run only with aligned rows
	}
	least := int64(aligned)
	for _, operand := range []struct {
		packed bool
		align  int64
	}{{p.A, g.AlignA}, {p.B, g.AlignB}, {p.C, g.alignedC()}} {
		if !operand.packed {
			least = min(least, operand.align)
		}
	}
	switch {
	case least >= aligned:
		return 1
	case least >= 4:
		return 3
	default:
		return 6.5
	}
}

// alignedC returns the alignment of C in bytes, limited by the alignment of the length of a row, N elements of 16 bits.
func (g GEMM) alignedC() int64 {
	if g.N%elements == 0 {
		return g.AlignC
	}
	return min(g.AlignC, g.N%elements&-(g.N%elements)*2)
}

// Copied returns how many bytes the copies read and write before and after the GEMM, reads and writes added.
func (g GEMM) Copied(p Packs) (before, after int64) {
	batches := func(shared bool) int64 {
		if shared {
			return 1
		}
		return g.Batch
	}
	if p.A {
		before += 2 * batches(g.SharedA) * g.M * g.K * g.Element
	}
	if p.B {
		before += 2 * batches(g.SharedB) * g.K * g.N * g.Element
	}
	if p.C {
		after = 2 * g.Batch * g.M * g.N * g.Result
		if g.AddsResult {
			before += after
		}
	}
	return before, after
}

// Bytes returns an upper bound of the bytes of workspace that the copies need.
func (g GEMM) Bytes(p Packs) int64 {
	up := func(n, to int64) int64 { return (n + to - 1) / to * to }
	m, n, k, bytes := up(g.M, elements), up(g.N, elements), up(g.K, elements), int64(0)
	for _, copied := range []struct {
		is   bool
		size int64
	}{{p.A, m * k * g.Element}, {p.B, k * n * g.Element}, {p.C, m * n * g.Result}, {p.C, n * g.Result}} {
		if copied.is {
			bytes += up(g.Batch*copied.size, workspace)
		}
	}
	if g.RowScales {
		bytes += up(4*m, workspace) + up(4*n, workspace)
	}
	return bytes
}

// Choose returns the matrices to copy: all unaligned ones, and B with C, or none if copies would not save 10 % of the time.
// For 8 bits it returns them in any case, and for 32 bits none.
func (g GEMM) Choose() Packs {
	p := Packs{A: g.AlignA < aligned, C: g.alignedC() < aligned}
	p.B = g.AlignB < aligned || p.C
	switch {
	case g.Element == 1:
		return p // cuBLASLt has no GEMM of unaligned numbers of 8 bits
	case g.Element != 2 || !p.Any():
		return Packs{}
	}
	before, after := g.Copied(p)
	copies := copyTime(before) + copyTime(after)
	if g.time(1)+copies > pays*g.time(g.Slowdown(Packs{})) {
		return Packs{}
	}
	return p
}

// time returns the time of a GEMM in microseconds. slowdown multiplies the time of the computation, but not the time of
// memory accesses.
func (g GEMM) time(slowdown float64) float64 {
	tiles := g.Batch * ((g.M + tile - 1) / tile) * ((g.N + tile - 1) / tile)
	waves := math.Inf(1)
	for split := int64(1); split <= splits; split++ {
		waves = min(waves, float64((tiles*split+sms-1)/sms)/float64(split))
	}
	computes := waves * 2 * tile * tile * float64(g.K) / (flops / sms) * slowdown
	reads := float64(g.Batch*(g.M*g.K+g.K*g.N)*g.Element+g.Batch*g.M*g.N*g.Result) / memory
	return max(computes, reads) + launch
}

// copyTime returns the time of copies that read and write the given number of bytes, in microseconds.
func copyTime(bytes int64) float64 {
	switch {
	case bytes == 0:
		return 0
	case bytes <= cache:
		return launch + float64(bytes)/cached
	default:
		return launch + float64(bytes)/memory
	}
}
