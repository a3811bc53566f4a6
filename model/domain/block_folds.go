package domain

import (
	"slices"
	"strconv"
	"strings"
)

// overBlocks is the suffix of a step that folds blocks of columns: "max_blocks(128)".
const overBlocks = "_blocks"

// OverBlocks spells the step that folds each block of adjacent columns by a function: "max_blocks(128)". The value of
// the step has the result of a block in each of the block's columns.
func OverBlocks(fn string, columns int64) string {
	return fn + overBlocks + "(" + strconv.FormatInt(columns, 10) + ")"
}

// LongestRow is the number of columns up to which one block of threads computes a row fast enough.
const LongestRow = 1 << 14

// CanFoldBlocks reports whether kernels fold blocks of this number of columns. Threads access up to 8 elements at
// once, so a block is a multiple of 8. One warp of 32 threads, each with at least 4 elements, can access a whole block.
func CanFoldBlocks(columns int64) bool { return slices.Contains([]int64{16, 32, 64, 128}, columns) }

// FoldsBlocks returns the function and the number of columns of a step that OverBlocks spells. ok is false for other
// steps.
func (s Step) FoldsBlocks() (fn string, columns int64, ok bool) {
	name, constant := SplitFn(s.Fn)
	fn, ok = strings.CutSuffix(name, overBlocks)
	columns, err := strconv.ParseInt(constant, 10, 64)
	return fn, columns, ok && err == nil && CanFoldBlocks(columns) && len(s.Args) == 1 && FoldOf(fn).Fn != ""
}

// NeedsRow reports whether a step folds a row or blocks of a row, so that the threads of a row work together.
func (s Step) NeedsRow() bool {
	_, _, blocks := s.FoldsBlocks()
	return blocks || s.Folds()
}

// Block returns the number of columns of the blocks that a body folds, or 1 if it folds none.
func (b Body) Block() int64 {
	for _, s := range b {
		if _, columns, ok := s.FoldsBlocks(); ok {
			return columns
		}
	}
	return 1
}

// InBlocks reports for each step whether its value is the same in all columns of a block, and may differ between blocks.
// wide says which operands have an element for each column.
func (b Body) InBlocks(wide []bool) []bool {
	rows, blocks := b.Rows(wide), make([]bool, len(wide)+len(b))
	for i, s := range b {
		_, _, folds := s.FoldsBlocks()
		differs := func(at int) bool { return rows[at] && !blocks[at] }
		blocks[len(wide)+i] = folds || rows[len(wide)+i] && len(s.Args) > 0 && !s.Concats() && !slices.ContainsFunc(s.Args, differs)
	}
	return blocks[len(wide):]
}

// Stored returns element c of a result with count elements in a row. The value of its step has an element for each
// column, or a single one. A result with fewer elements than columns has one for each block.
func Stored(value []float64, c, count int64) float64 {
	return value[c*int64(len(value))/count]
}

// foldBlocks folds each block of a row by fn, and repeats the result in all columns of the block.
func foldBlocks(fn func(a, b float64) float64, row []float64, block int64) []float64 {
	out := make([]float64, len(row))
	for first := 0; first < len(row); first += int(block) {
		end := min(len(row), first+int(block))
		folded := row[first]
		for _, v := range row[first+1 : end] {
			folded = fn(folded, v)
		}
		for c := first; c < end; c++ {
			out[c] = folded
		}
	}
	return out
}
