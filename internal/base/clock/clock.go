// Package clock has vector clocks, which record the work that has ended before other work begins. The overlap pass, the
// ordering of calls and the prover use these clocks to compare the orders that they compute.
package clock

import "slices"

// Clock counts how many pieces of work of each stream have ended. The index is the number of the stream, from 0. The
// count of a stream beyond the length of the clock is 0.
type Clock[N int | int32] []N

// Of returns the count of a stream.
func (c Clock[N]) Of(stream int) N {
	if stream < len(c) {
		return c[stream]
	}
	return 0
}

// At returns c with the given count for a stream. It may change c in place.
func (c Clock[N]) At(stream int, ended N) Clock[N] {
	for len(c) <= stream {
		c = append(c, 0)
	}
	c[stream] = ended
	return c
}

// Covers reports whether each count of c is at least as large as the count of the other clock.
func (c Clock[N]) Covers(other Clock[N]) bool {
	for i, n := range other {
		if n > 0 && c.Of(i) < n {
			return false
		}
	}
	return true
}

// UpTo returns the greater count of both clocks for each stream. It may change c in place.
func (c Clock[N]) UpTo(other Clock[N]) Clock[N] {
	if more := len(other) - len(c); more > 0 {
		c = append(c, make([]N, more)...)
	}
	for i, n := range other {
		c[i] = max(c[i], n)
	}
	return c
}

// Merged returns the result of UpTo and leaves c unchanged.
func (c Clock[N]) Merged(other Clock[N]) Clock[N] { return slices.Clone(c).UpTo(other) }

// Common returns the smaller count of both clocks for each stream, as a new clock.
func (c Clock[N]) Common(other Clock[N]) Clock[N] {
	out := slices.Clone(c[:min(len(c), len(other))])
	for i := range out {
		out[i] = min(out[i], other[i])
	}
	return out
}
