package values

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// kernels returns the program's kernels with column counts for other parameter values. A column count changes like the
// kernel's row, or else like the first row length of its operands that had the same value originally. If there is none, it
// changes like a named extent that had this value and changes.
func (s *search) kernels(now calls.Values) (list []*calls.Kernel) {
	before := s.program.Values()
	names := slices.Sorted(maps.Keys(before))
	for _, k := range s.program.Kernels {
		rows := s.rows(k.Name)
		if k.Row != nil {
			rows = append([]expr.Expr{k.Row}, rows...)
		}
		for _, name := range names {
			if now[name] != before[name] {
				rows = append(rows, expr.Var(name))
			}
		}
		changed := *k
		for _, e := range rows {
			was, _ := before.Eval(e)
			if is, known := now.Eval(e); was == k.Columns && k.Columns > 0 && known {
				changed.Columns = is
				break
			}
		}
		list = append(list, &changed)
	}
	return list
}

// rows lists the last extents of the operands of a kernel's launches.
func (s *search) rows(kernel string) (list []expr.Expr) {
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
	return list
}
