// Package clock has vector clocks, which record the work that has ended before other work begins. The pass overlap, the
// order of calls and the prover each run through a program in their own way, and compare what they find with these
// clocks.
package clock

import "slices"

// Clock counts, for each stream, how much of its work has ended. Streams have numbers, and a clock counts 0 for streams
// beyond its length.
type Clock[N int | int32] []N

// Of returns how much work of a stream has ended.
func (c Clock[N]) Of(stream int) N {
	if stream < len(c) {
		return c[stream]
	}
	return 0
}

// At returns c with another count of ended work for a stream. It may reuse the memory of c.
func (c Clock[N]) At(stream int, ended N) Clock[N] {
	for len(c) <= stream {
		c = append(c, 0)
	}
	c[stream] = ended
	return c
}

// Covers reports whether c covers all work of another clock.
func (c Clock[N]) Covers(other Clock[N]) bool {
	for i, n := range other {
		if n > 0 && c.Of(i) < n {
			return false
		}
	}
	return true
}

// UpTo returns a clock that covers the work of both clocks. It may reuse the memory of c.
func (c Clock[N]) UpTo(other Clock[N]) Clock[N] {
	if more := len(other) - len(c); more > 0 {
		c = append(c, make([]N, more)...)
	}
	for i, n := range other {
		c[i] = max(c[i], n)
	}
	return c
}

// Merged is UpTo without changes to c.
func (c Clock[N]) Merged(other Clock[N]) Clock[N] { return slices.Clone(c).UpTo(other) }

// Common returns a clock of the work that both clocks cover.
func (c Clock[N]) Common(other Clock[N]) Clock[N] {
	out := slices.Clone(c[:min(len(c), len(other))])
	for i := range out {
		out[i] = min(out[i], other[i])
	}
	return out
}
