package domain

import (
	"slices"
	"strconv"
	"strings"
)

// A Step of a kernel is one operation on rows: a function of one operand or two, element by element;
// the fold of a row to one value ("sum", "max", "min", "prod" of one operand); as the last one the "concat"
// of several, one behind the other, or the fold of each column over all rows ("sum_rows", "max_rows"); or
// "positions(k)" of none: the index along the axis k before the last one, so that k = 0 counts columns.
type Step struct {
	Name string // of the value: as the spec calls the tensor that it stands for
	Fn   string // as specs spell it: "silu", "scale(0.125)", "mul"
	Args []int  // what it reads: operands of the kernel by their place, behind them earlier steps
	Also bool   // a result of the kernel, beside the last step
}

// Folds reports whether a step makes one value of a row.
func (s Step) Folds() bool {
	return len(s.Args) == 1 && slices.Contains([]string{"sum", "max", "min", "prod"}, s.Fn)
}

// FoldsColumns is what a step folds each column by, over all rows: "sum" of "sum_rows"; ok is false for other steps.
func (s Step) FoldsColumns() (fn string, ok bool) {
	fn, ok = strings.CutSuffix(s.Fn, overRows)
	return fn, ok && len(s.Args) == 1 && slices.Contains([]string{"sum", "max"}, fn)
}

// overRows ends the name of a fold over rows.
const overRows = "_rows"

// OverRows is the spelling of the step that folds columns by a function.
func OverRows(fn string) string { return fn + overRows }

// Positions is the axis that a step counts along, from the last one; ok is false for other steps.
func (s Step) Positions() (back int, ok bool) {
	name, constant := SplitFn(s.Fn)
	back, err := strconv.Atoi(constant)
	return back, len(s.Args) == 0 && name == "positions" && err == nil && back >= 0
}

// Concats reports whether a step is several values, one behind the other.
func (s Step) Concats() bool { return len(s.Args) > 1 && s.Fn == "concat" }

// Copy is what a step is by that is its operand.
const Copy = "copy"

// Known reports whether there is such a function of as many operands.
func (s Step) Known() bool {
	switch len(s.Args) {
	case 0:
		_, positions := s.Positions()
		return positions
	case 1:
		_, columns := s.FoldsColumns()
		return UnaryFn(s.Fn) != nil || s.Folds() || columns || s.Fn == Copy
	case 2:
		return BinaryFns[s.Fn] != nil || s.Concats()
	default:
		_, drops := DropoutOf(s.Fn)
		return s.Concats() || drops && len(s.Args) <= mostOfDropout
	}
}

// mostOfDropout is how many operands a dropout has at most: an element, the seed, its column and its row.
const mostOfDropout = 4

// A Body is what a kernel computes of each row of its operands: the value of its last step. All values
// are fp32, whatever the types of the operands and the result.
type Body []Step

// Rows tells, for each operand and then each step, whether it has an element for each column of a row,
// given which operands do; the others have one for the row.
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

// Reads reports whether a step reads a value: operands count first, then steps.
func (b Body) Reads(at int) bool {
	return slices.ContainsFunc(b, func(s Step) bool { return slices.Contains(s.Args, at) })
}

// Results are the steps whose values are results: the last one, and before it those that also are.
func (b Body) Results() []int {
	results := []int{len(b) - 1}
	for i, s := range b {
		if s.Also {
			results = append(results, i)
		}
	}
	return results
}

// FoldsColumns is what the last step folds each column by, over all rows; ok is false where it does not.
func (b Body) FoldsColumns() (fn string, ok bool) {
	if len(b) == 0 {
		return "", false
	}
	return b[len(b)-1].FoldsColumns()
}

// FoldIn folds what a row adds to the value of the last step, which is that of rows before, or nil. It gives the new value.
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

// Row computes one row of so many columns: the values of the operands, and then of each step. An
// operand of one element stands for all columns; at says which row it is, as positions count. The value of a fold over rows
// is what the row adds to it.
func (b Body) Row(operands [][]float64, columns int64, at func(back int) int64) [][]float64 {
	return b.RowIn(Singles, operands, columns, at)
}

// RowIn is Row in another arithmetic.
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

// elementwise applies a function to the elements of the operands for each column.
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
