package domain

import (
	"slices"
	"strconv"
	"strings"
)

// A Step of a kernel is one operation on rows:
//
//   - an elementwise function of one or two operands, or "copy" of one operand
//   - "cast(bf16)" of one operand: the value rounded to an element type; see CastFn
//   - the fold of a row to one value: "sum", "max", "min" or "prod" of one operand
//   - the fold of blocks of columns: "max_blocks(128)" of one operand; see OverBlocks
//   - "positions(k)" without operands: the index along the axis k before the last one, so that k = 0 counts columns
//   - a dropout
//
// The last step may also be the "concat" of several operands, or fold each column over all rows ("sum_rows", "max_rows").
type Step struct {
	Name string // of the step's value, which later steps and Text use
	Fn   string // with its constant: "silu", "scale(0.125)", "mul"; see SplitFn
	Args []int  // indices of the values it reads: first the operands of the kernel, then the earlier steps
	Also bool   // a result of the kernel, in addition to the last step
}

// Folds reports whether a step reduces each row to one value.
func (s Step) Folds() bool {
	return len(s.Args) == 1 && FoldOf(s.Fn).Fn != ""
}

// FoldsColumns returns the function that folds each column over all rows: "sum" of "sum_rows". ok is false for other steps.
func (s Step) FoldsColumns() (fn string, ok bool) {
	fn, ok = strings.CutSuffix(s.Fn, overRows)
	return fn, ok && len(s.Args) == 1 && slices.Contains([]string{"sum", "max"}, fn)
}

// overRows is the suffix of a step that folds columns: "sum_rows".
const overRows = "_rows"

// OverRows spells the step that folds columns by a function: "sum_rows" for "sum".
func OverRows(fn string) string { return fn + overRows }

// Positions returns k of a step positions(k), which counts along the axis k before the last one. ok is false for other
// steps.
func (s Step) Positions() (back int, ok bool) {
	name, constant := SplitFn(s.Fn)
	back, err := strconv.Atoi(constant)
	return back, len(s.Args) == 0 && name == "positions" && err == nil && back >= 0
}

// Concats reports whether a step concatenates several values.
func (s Step) Concats() bool { return len(s.Args) > 1 && s.Fn == "concat" }

// Copy is the function of a step whose value is its operand.
const Copy = "copy"

// Known reports whether the function of the step exists and takes this number of operands.
func (s Step) Known() bool {
	switch len(s.Args) {
	case 0:
		_, positions := s.Positions()
		return positions
	case 1:
		_, columns := s.FoldsColumns()
		return UnaryFn(s.Fn) != nil || s.NeedsRow() || columns || s.Fn == Copy || s.Casts()
	case 2:
		return BinaryFn(s.Fn) != nil || s.Concats()
	default:
		_, drops := DropoutOf(s.Fn)
		return s.Concats() || drops && len(s.Args) <= mostOfDropout
	}
}

// mostOfDropout is the largest number of operands of a dropout: an element, the seed, its column and its row.
const mostOfDropout = 4

// A Body is the computation of a kernel for each row of its operands. Its value is the value of the last step. All
// values are fp32, whatever the types of the operands and the result.
type Body []Step

// Rows reports for each operand, and then for each step, whether its value is a row, with one element for each column.
// Otherwise the value is one element for the whole row. operands says the same for the operands.
func (b Body) Rows(operands []bool) []bool {
	rows := slices.Clone(operands)
	for _, s := range b {
		back, positions := s.Positions()
		wide := positions && back == 0 || s.Concats()
		wide = wide || !s.Folds() && slices.ContainsFunc(s.Args, func(i int) bool { return rows[i] })
		rows = append(rows, wide)
	}
	return rows
}

// Reads reports whether any step reads value number at. Values are numbered from 0: the operands first, then the steps.
func (b Body) Reads(at int) bool {
	return slices.ContainsFunc(b, func(s Step) bool { return slices.Contains(s.Args, at) })
}

// Results returns the indices of the steps whose values are results: the last step first, and then the steps with Also.
func (b Body) Results() []int {
	results := []int{len(b) - 1}
	for i, s := range b {
		if s.Also {
			results = append(results, i)
		}
	}
	return results
}

// FoldsColumns returns the function by which the last step folds each column over all rows. ok is false if it does not.
func (b Body) FoldsColumns() (fn string, ok bool) {
	if len(b) == 0 {
		return "", false
	}
	return b[len(b)-1].FoldsColumns()
}

// FoldIn folds the last step's value of one row into folded, its fold over the earlier rows, and returns the result. It
// changes folded, which is nil before the first row.
func (b Body) FoldIn(n Arithmetic, folded, row []float64) []float64 {
	name, _ := b.FoldsColumns()
	if folded == nil {
		return slices.Clone(row)
	}
	fn := n.Binary(name)
	for c, v := range row {
		folded[c] = fn(folded[c], v)
	}
	return folded
}

// Row computes one row with the given number of columns. It returns the values of the operands, and then the values of
// the steps. An operand of one element applies to all columns. at(k) returns the index of the row along the axis k
// before the last one, for steps positions(k) with k > 0. The value of a step that folds columns is this row's
// contribution, which FoldIn folds with the others.
func (b Body) Row(operands [][]float64, columns int64, at func(back int) int64) [][]float64 {
	return b.RowIn(Singles, operands, columns, at)
}

// RowIn is Row in the arithmetic n.
func (b Body) RowIn(n Arithmetic, operands [][]float64, columns int64, at func(back int) int64) [][]float64 {
	values := slices.Clone(operands)
	for _, s := range b {
		back, positions := s.Positions()
		switch {
		case positions && back == 0:
			ramp := make([]float64, columns)
			for c := range ramp {
				ramp[c] = float64(c)
			}
			values = append(values, ramp)
		case positions:
			values = append(values, []float64{float64(at(back))})
		default:
			values = append(values, s.of(n, values, columns))
		}
	}
	return values
}

func (s Step) of(n Arithmetic, values [][]float64, columns int64) []float64 {
	if s.Concats() {
		var all []float64
		for _, arg := range s.Args {
			for c := range columns {
				all = append(all, values[arg][min(int(c), len(values[arg])-1)])
			}
		}
		return all
	}
	if d, drops := DropoutOf(s.Fn); drops {
		return s.elementwise(values, n.Dropout(d))
	}
	a := values[s.Args[0]]
	if _, columns := s.FoldsColumns(); columns || s.Fn == Copy {
		return a
	}
	if fn, block, ok := s.FoldsBlocks(); ok {
		return foldBlocks(n.Binary(fn), a, block)
	}
	if s.Folds() {
		fn, folded := n.Binary(s.Fn), a[0]
		for _, v := range a[1:] {
			folded = fn(folded, v)
		}
		return []float64{folded}
	}
	if len(s.Args) == 1 {
		out, fn := make([]float64, len(a)), n.Unary(s.Fn)
		for i, v := range a {
			out[i] = fn(v)
		}
		return out
	}
	fn := n.Binary(s.Fn)
	return s.elementwise(values, func(operands []float64) float64 { return fn(operands[0], operands[1]) })
}

// elementwise applies a function to the elements of the operands for each column. An operand of one element applies to
// all columns.
func (s Step) elementwise(values [][]float64, fn func(operands []float64) float64) []float64 {
	columns := 0
	for _, arg := range s.Args {
		columns = max(columns, len(values[arg]))
	}
	out, operands := make([]float64, columns), make([]float64, len(s.Args))
	for c := range out {
		for i, arg := range s.Args {
			operands[i] = values[arg][min(c, len(values[arg])-1)]
		}
		out[c] = fn(operands)
	}
	return out
}
