// Package fusion merges operations that work element by element or reduce rows into one kernel, and lets GEMMs apply additions
// and functions.
package fusion
