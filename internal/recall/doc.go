// Package recall checks the checkers of programs: of mutants that compute something wrong, how many do
// they reject?
//
// A Subject is a right program: an example at a small size. The package lowering/prove/mutate makes
// wrong programs of it. The oracle, the interpreter of the calls under several seeds, says which of them
// are: some mistakes make no difference. A mutant that is wrong and that a checker accepts is a survivor.
//
// Mutants have mistakes in finished programs. The package faults makes them in the lowering, and what it then makes is
// judged alike. Of a sample, a Device is a second oracle: it builds mutants and runs them.
//
// make verify-report prints it; docs/verification.md has the figures.
package recall
