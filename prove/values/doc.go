// Package values proves that a program computes the values of its model, by identity testing. It computes the program and the
// model on random inputs, with numbers of a large prime field in place of floating point, and compares the results element by
// element.
//
// In the field, addition and multiplication have all laws of the reals. So products may be summed in any order and in any parts,
// over ranks and sub-chunks. The sum is the same if it has exactly the same products, each once. If a product is missing, occurs
// twice, or has a wrong element, then the results are different polynomials of the inputs. Two different polynomials of degree n
// agree at a random point with a probability of at most n / (2^53 - 111). Functions other than polynomials and quotients are random
// functions of the field. For example, gelu(x) has the same value in program and model if x has, and an unrelated random value
// otherwise. So a fused kernel equals its operations if it composes the same functions of the same elements. max and min are
// commutative and associative: (a + k) (b + k) - k, with a random number k of each. keep, drop, dropouts and gathers multiply
// elements by random functions: of the mask, of the seed and the position, or of the id and the row. Casts change nothing. Unwritten
// memory holds random numbers.
//
// The program runs in one order that respects happens-before. That represents all orders once no two operations race
// (prove/races).
//
// The package does not check rounding, which depends on element types and on where values are rounded. It checks only the extents
// at which it runs. Small finds extents that are small enough to compute with: the same program with other values of its
// parameters.
package values
