// Package fusion makes one kernel of operations that work element by element or reduce rows.
package fusion
