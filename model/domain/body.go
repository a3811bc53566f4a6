package domain

import (
	"slices"
	"strconv"
	"strings"
)

// A Step of a kernel is one operation on rows: a function of one operand or two, element by element;
// the fold of a row to one value ("sum", "max", "min", "prod" of one operand); as the last one the "concat"
// of several, one behind the other; or "positions(k)" of none: the index along the axis k before the last
// one, so that k = 0 counts columns.
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
		return UnaryFn(s.Fn) != nil || s.Folds() || s.Fn == Copy
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

// Row computes one row of so many columns: the values of the operands, and then of each step. An
// operand of one element stands for all columns; at says which row it is, as positions count.
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
	if s.Fn == Copy {
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

// Text prints the steps over operands of these names: "G = silu(Zg), A = mul(G, Zu)".
func (b Body) Text(operands []string) string {
	names, steps := slices.Clone(operands), make([]string, len(b))
	for i, s := range b {
		args := make([]string, 0, 3)
		fn, constant := SplitFn(s.Fn)
		if constant != "" {
			args = append(args, constant)
		}
		for _, a := range s.Args {
			args = append(args, names[a])
		}
		if s.Also {
			steps[i] = "also "
		}
		steps[i] += s.Name + " = " + fn + "(" + strings.Join(args, ", ") + ")"
		names = append(names, s.Name)
	}
	return strings.Join(steps, ", ")
}

// ParseBody reads what Text prints; ok is false where it is not that.
func ParseBody(text string, operands []string) (b Body, ok bool) {
	names := slices.Clone(operands)
	for text != "" {
		head, rest, closed := strings.Cut(text, ")")
		name, call, named := strings.Cut(head, " = ")
		fn, list, called := strings.Cut(call, "(")
		if !closed || !named || !called {
			return nil, false
		}
		s := Step{Name: name, Fn: fn}
		s.Name, s.Also = strings.CutPrefix(name, "also ")
		for i, arg := range strings.Split(list, ", ") {
			at := slices.Index(names, arg)
			if at < 0 && i == 0 {
				s.Fn = fn + "(" + arg + ")"
				continue
			}
			s.Args = append(s.Args, at)
		}
		if slices.Contains(s.Args, -1) || !s.Known() {
			return nil, false
		}
		b, names = append(b, s), append(names, s.Name)
		if text = rest; text != "" {
			if text, ok = strings.CutPrefix(rest, ", "); !ok {
				return nil, false
			}
		}
	}
	return b, len(b) > 0
}
