// Package soak searches for bugs of hirgen with random specs.
//
// A seed and a number determine a spec (random*.go, examples.go): a random one, or a changed example. Examine checks
// the properties that every spec must have (examine.go, oracle.go). A Yard builds and runs some of the programs on the
// CPU device (yard.go). Each failure is a Finding, and Shrink reduces its spec (shrink.go). Run does all this for a
// given time and counts the features of the specs.
//
// See docs/soak.md for its use.
package soak
