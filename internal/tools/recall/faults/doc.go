// Package faults breaks the lowering on purpose: one pass makes one mistake, and the later passes run on the result.
// The result is the program of a lowering with a bug in that pass. Mistakes in finished programs (prove/mutate) cannot
// produce such programs, because later passes derive waits, flags and memory from the wrong result.
//
// The source of the passes is unchanged. A Fault wraps a pass of lowering.Passes or of the calls' passes.Passes. It
// changes the output of the pass or, while the pass runs, its input. A TableFault instead is a mistake in a table that
// several stages read.
package faults
