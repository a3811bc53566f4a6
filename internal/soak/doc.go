// Package soak looks for mistakes of hirgen with random specs.
//
// A seed and a number make a spec (random*.go, examples.go): made up, or an example in another
// form. Examine holds what must be true of every spec (examine.go, oracle.go), and a Yard builds and
// runs programs of some of them on the CPU device (yard.go). What is wrong is a Finding, which
// Shrink makes small (shrink.go). Run does all this for a time and counts what it has met.
//
// docs/soak.md says how to use it.
package soak
