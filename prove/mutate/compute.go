package mutate

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// wrongBeta makes a GEMM without an addend add the old values of its result, or removes the addend of a GEMM that has one.
func wrongBeta(e *editor) {
	shapes := calls.ByName(e.program.Shapes)
	each(func(e *editor, s *calls.Gemm) {
		d := shapes[s.Shape]
		switch {
		case s.Addend != nil && e.here(s, "adds nothing"):
			s.Addend, d.Addend = nil, false
		case s.Addend == nil && e.here(s, "adds its result"):
			at := s.Out
			s.Addend, d.Addend = &at, true
		}
	})(e)
}

func transpose(e *editor) {
	for _, d := range e.program.Shapes {
		if e.here(d, "A transposed") {
			d.TransposeA = !d.TransposeA
		}
		if e.here(d, "B transposed") {
			d.TransposeB = !d.TransposeB
		}
	}
}

func swapOperands(e *editor) {
	each(func(e *editor, s *calls.Gemm) {
		if e.here(s, "a and b exchanged") {
			s.A, s.B = s.B, s.A
		}
	})(e)
	each(func(e *editor, s *calls.Attend) {
		if e.here(s, "q and k exchanged") {
			s.Q, s.K = s.K, s.Q
		}
		if e.here(s, "k and v exchanged") {
			s.K, s.V = s.V, s.K
		}
	})(e)
	each(func(e *editor, s *calls.Launch) {
		for i := 1; i < len(s.In); i++ {
			if e.here(s, "operands %d and %d exchanged", i-1, i) {
				s.In[i-1], s.In[i] = s.In[i], s.In[i-1]
			}
		}
	})(e)
}

// others maps functions to the functions that replace them.
var others = map[string]string{
	"add": "sub", "sub": "add", "mul": "add", "div": "mul", "max": "min", "min": "max", "sum": "max", "prod": "sum",
	"relu": "neg", "gelu": "relu", "silu": "gelu", "neg": "relu", "exp": "relu", "rsqrt": "sqrt", "copy": "neg",
}

// other returns a function to replace the given one; empty: none.
func other(fn string) string {
	if strings.HasPrefix(fn, "scale(") {
		return "neg"
	}
	return others[fn]
}

// wrongFunction changes the function of a kernel of the runtime, or of a step of a kernel of the program.
func wrongFunction(e *editor) {
	each(func(e *editor, s *calls.Launch) {
		if fn := other(s.Fn); fn != "" && e.here(s, "%s", fn) {
			s.Fn = fn
		}
	})(e)
	for _, k := range e.program.Kernels {
		steps := k.Steps()
		changed := false
		for i := range steps {
			if fn := other(steps[i].Fn); fn != "" && e.here(k, "%s is %s", steps[i].Name, fn) {
				steps[i].Fn, changed = fn, true
			}
		}
		if changed {
			k.Body = steps.Text(k.Operands[min(int(k.Results), len(k.Operands)):])
		}
	}
}

func wrongBranch(e *editor, s *calls.If) {
	if s.Cond != nil && e.here(s, "where it does not hold") {
		s.Cond = expr.Opposite(s.Cond)
	}
}

func lostIteration(e *editor, s *calls.For) {
	if e.here(s, "without its first iteration") {
		s.First++
	}
	if e.here(s, "without its last iteration") {
		s.Count = expr.Op("-", s.Count, expr.Int(1))
	}
}
