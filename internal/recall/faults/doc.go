// Package faults breaks the lowering on purpose: one pass at a time makes one mistake, and the passes behind it run on
// what that leaves. So programs come about that a lowering with a mistake in that pass would emit, which mistakes in
// finished programs (lowering/prove/mutate) do not reach: later passes derive waits, flags and memory from them.
//
// The passes themselves know nothing of it. A fault stands around a pass of the tables, and changes what the pass has
// made or, for a moment, what it sees.
package faults
