package values

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// kernels returns the program's kernels with column counts for other parameter values. A column count changes like
// the first extent in rows that had the same value originally, and stays if there is none.
func (s *search) kernels(now calls.Values) (list []*calls.Kernel) {
	before := s.program.Values()
	for _, k := range s.program.Kernels {
		changed := *k
		for _, e := range s.rows(k.Name, before) {
			was, _ := before.Eval(e)
			is, known := now.Eval(e)
			if was == k.Columns && k.Columns > 0 && known && is != was {
				changed.Columns = is
				break
			}
		}
		list = append(list, &changed)
	}
	return list
}

// rows lists the extents that may be the row length of a kernel: the last extents of its launches' operands, then all named
// extents. The latter are a fallback.
func (s *search) rows(kernel string, named calls.Values) (list []expr.Expr) {
	last := map[string]expr.Expr{}
	note := func(name string, shape []expr.Expr) {
		if len(shape) > 0 {
			last[name] = shape[len(shape)-1]
		}
	}
	for _, d := range s.program.Arguments {
		note(d.Name, d.Shape)
	}
	for _, d := range s.program.Buffers {
		note(d.Name, d.Shape)
	}
	calls.Walk(s.program.Body, func(stmt calls.Stmt) bool {
		switch stmt := stmt.(type) {
		case *calls.Declare:
			note(stmt.Name, stmt.Shape)
		case *calls.Launch:
			for _, operand := range append([]calls.Operand{stmt.Out}, stmt.In...) {
				if e := last[operand.At.Base]; e != nil && stmt.Kernel == kernel {
					list = append(list, e)
				}
			}
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, expr.Var(name))
	}
	return list
}
