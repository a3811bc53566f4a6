// Package fusion merges operations that work element by element or reduce rows into one kernel.
package fusion
