// Package packing knows what GEMMs take whose rows are not aligned, and when it is faster to copy operands to rows that are.
// cuBLASLt reads operands of 16 bits with the fast loads of Hopper GPUs where all rows begin at multiples of 16 bytes and
// the columns of the result are a multiple of 8; other GEMMs take several times as long. docs/design/packed-gemms.md has the measurements.
package packing

import "math"

// GEMM is a batch of C[m, n] = A[m, k] B[k, n].
type GEMM struct {
	M, N, K, Batch         int64
	SharedA, SharedB       bool  // one matrix for all batches
	Element, Result        int64 // bytes of an element of the operands, and of the result
	AlignA, AlignB, AlignC int64 // bytes that the beginning of every row is a multiple of
	AddsResult             bool  // a matrix is added that lies as C does
}

// Packs says which operands are copied to aligned rows. Where C is, B is, too: the columns of both are rounded up.
type Packs struct{ A, B, C bool }

// Any reports whether an operand is copied.
func (p Packs) Any() bool { return p.A || p.B || p.C }

const (
	aligned   = 16  // bytes
	elements  = 8   // of 16 bits, in as many bytes
	workspace = 256 // bytes that each copy begins at a multiple of
	pays      = 0.9 // of the time without copies, at most, is what copies are made for

	// Of an H100, in units of a microsecond. What is compared depends little on the GPU: rates of others are in similar proportion.
	flops  = 6e8   // of an aligned GEMM
	memory = 2.6e6 // bytes of memory
	cached = 4e6   // bytes, where both copies stay in the L2 cache
	cache  = 30e6  // bytes
	launch = 2.2   // of a kernel
	sms    = 132
	tile   = 128 // rows and columns that an SM computes at a time
	splits = 4   // of K at most, where there are few tiles
)

// Slowdown is how many times as long a GEMM takes that computes with unaligned rows; 1 where its rows are aligned.
func (g GEMM) Slowdown(p Packs) float64 {
	if g.Element != 2 {
		return 1 // fp32 has no fast loads to lose
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

// alignedC is the alignment of C, of which the columns count, too.
func (g GEMM) alignedC() int64 {
	if g.N%elements == 0 {
		return g.AlignC
	}
	return min(g.AlignC, g.N%elements&-(g.N%elements)*2)
}

// Copied is how many bytes copies read and write: before the GEMM, and after it.
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

// Bytes is what copies take of a workspace, at most.
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
	return bytes
}

// Choose finds what to copy; nothing where copies do not pay.
func (g GEMM) Choose() Packs {
	p := Packs{A: g.AlignA < aligned, C: g.alignedC() < aligned}
	p.B = g.AlignB < aligned || p.C
	if g.Element != 2 || !p.Any() {
		return Packs{}
	}
	before, after := g.Copied(p)
	copies := copyTime(before) + copyTime(after)
	if g.time(1)+copies > pays*g.time(g.Slowdown(Packs{})) {
		return Packs{}
	}
	return p
}

// time is that of a GEMM which computes so many times as long as an aligned one.
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

// copyTime is that of copies which read and write so many bytes.
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
