// Package fusion merges elementwise operations and reductions of rows into one kernel, and lets GEMMs apply additions
// and functions.
package fusion
