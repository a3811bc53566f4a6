// Package values proves that a program computes what its model says, by identity testing: both are computed
// with numbers of a large prime field in place of floating point, on random inputs, and compared element by
// element.
//
// In the field, addition and multiplication have all laws of the reals. So products may be summed in any
// order and in any parts, over ranks and sub-chunks: the sum is the same if it is of exactly the same
// products, each once. If one is missing, twice, or of another element, results are polynomials of the
// inputs that differ, and two polynomials of degree n agree at a random point with a probability of at most
// n / 2^53. Functions that are no polynomials are random functions of the field: gelu(x) is the same
// in program and model if x is, and otherwise another random number. A fused kernel is then equal to its
// operations if it composes the same functions of the same elements. max and min are commutative and
// associative, and have no other law. Memory that nothing has written holds numbers of its own.
//
// The program runs in one order in which each operation comes behind all that it follows. That stands for
// all orders once it is proved that no two operations race (lowering/prove/races).
//
// What this leaves open: rounding, that is element types and what is rounded when; extents beside the
// ones that it runs at. Small has extents small enough to compute with: the same text with other values
// of its parameters.
package values
