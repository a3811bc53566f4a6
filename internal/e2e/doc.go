// Package e2e holds the end-to-end tests. They load, lower and emit a spec, build the program for the CPU device and
// run it as real processes. Then they check its results, reports and remaining files. The package has tests only.
//
// Emitted folders are shared. A case with other parameters is emitted over the previous case, so that only changed
// files are compiled again, as for a user.
package e2e
