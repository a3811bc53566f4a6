// Package recall measures the checkers of programs: what share of wrong mutants do they reject?
//
// A Subject is a correct program: an example at a small size. The package prove/mutate derives mutants from it. The
// oracle runs the interpreter of the calls under several seeds and decides which mutants are wrong, because some
// mistakes have no effect. A wrong mutant that a checker accepts is a survivor.
//
// Mutants have mistakes in finished programs. The package faults instead breaks the lowering, and recall judges the
// resulting programs in the same way. Package faults also has mistakes in the tables that the lowering, the interpreter
// and the prover share. For a sample, a Device serves as a second oracle: it builds and runs the mutants.
//
// make verify-report prints these shares; docs/verification.md has the figures.
package recall
