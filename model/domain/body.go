package domain

import (
	"slices"
	"strings"
)

// A Step of a kernel is one operation on rows: a function of one operand or two, element by element,
// or the fold of a row to one value ("sum", "max", "min", "prod" of one operand).
type Step struct {
	Name string // of the value: as the spec calls the tensor that it stands for
	Fn   string // as specs spell it: "silu", "scale(0.125)", "mul"
	Args []int  // what it reads: operands of the kernel by their place, behind them earlier steps
}

// Folds reports whether a step makes one value of a row.
func (s Step) Folds() bool {
	return len(s.Args) == 1 && slices.Contains([]string{"sum", "max", "min", "prod"}, s.Fn)
}

// Known reports whether there is such a function of as many operands.
func (s Step) Known() bool {
	if len(s.Args) == 2 {
		return BinaryFns[s.Fn] != nil
	}
	return len(s.Args) == 1 && (UnaryFn(s.Fn) != nil || s.Folds())
}

// A Body is what a kernel computes of each row of its operands: the value of its last step. All values
// are fp32, whatever the types of the operands and the result.
type Body []Step

// Rows tells, for each operand and then each step, whether it has an element for each column of a row,
// given which operands do; the others have one for the row.
func (b Body) Rows(operands []bool) []bool {
	rows := slices.Clone(operands)
	for _, s := range b {
		wide := !s.Folds() && slices.ContainsFunc(s.Args, func(i int) bool { return rows[i] })
		rows = append(rows, wide)
	}
	return rows
}

// Row computes the result of one row. An operand of one element stands for all columns.
func (b Body) Row(operands [][]float64) []float64 {
	values := slices.Clone(operands)
	for _, s := range b {
		values = append(values, s.of(values))
	}
	return values[len(values)-1]
}

func (s Step) of(values [][]float64) []float64 {
	a := values[s.Args[0]]
	if s.Folds() {
		fn, folded := BinaryFns[s.Fn], a[0]
		for _, v := range a[1:] {
			folded = FP32.Round(fn(folded, v))
		}
		return []float64{folded}
	}
	if len(s.Args) == 1 {
		out, fn := make([]float64, len(a)), UnaryFn(s.Fn)
		for i, v := range a {
			out[i] = FP32.Round(fn(v))
		}
		return out
	}
	other, fn := values[s.Args[1]], BinaryFns[s.Fn]
	out := make([]float64, max(len(a), len(other)))
	for i := range out {
		out[i] = FP32.Round(fn(a[min(i, len(a)-1)], other[min(i, len(other)-1)]))
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
		steps[i] = s.Name + " = " + fn + "(" + strings.Join(args, ", ") + ")"
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
		b, names = append(b, s), append(names, name)
		if text = rest; text != "" {
			if text, ok = strings.CutPrefix(rest, ", "); !ok {
				return nil, false
			}
		}
	}
	return b, len(b) > 0
}
