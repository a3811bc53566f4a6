// Package e2e holds the end-to-end tests: a spec is loaded, lowered, emitted, built for
// the CPU device and run on real processes, and what it computes, reports and leaves
// behind is checked. It has tests and nothing else.
//
// Emitted folders are shared: a case with other parameters is emitted over the one
// before, so that only the files that changed are compiled again, as for a user.
package e2e
