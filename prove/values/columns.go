package values

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// separate returns a program in which no two launches share a kernel, because extents that are equal may differ at other parameter
// values. The row of a kernel is an expression of its first launch, which a pass may have removed since. A launch keeps it only if it
// is the row of an operand, or if no operand has rows of this length.
func separate(p *calls.Program) *calls.Program {
	own, kernels, values, last := *p, calls.ByName(p.Kernels), p.Values(), lastExtents(p)
	own.Kernels = nil
	var separated func([]calls.Stmt) []calls.Stmt
	separated = func(body []calls.Stmt) (list []calls.Stmt) {
		for _, s := range body {
			s = calls.Copy(s)
			for _, inner := range calls.Bodies(s) {
				*inner = separated(*inner)
			}
			list = append(list, s)
			l, ok := s.(*calls.Launch)
			if !ok || !l.Own() || kernels[l.Kernel] == nil {
				continue
			}
			k := *kernels[l.Kernel]
			rows := slices.DeleteFunc(rowsOf(l, &k, last), func(e expr.Expr) bool { n, _ := values.Eval(e); return n != k.Columns })
			isRow := func(e expr.Expr) bool { return k.Row != nil && e.String() == k.Row.String() }
			if len(rows) > 0 && !slices.ContainsFunc(rows, isRow) {
				k.Row = rows[0]
			}
			k.Name = fmt.Sprintf("%s of launch %d", k.Name, len(own.Kernels))
			l.Kernel, own.Kernels = k.Name, append(own.Kernels, &k)
		}
		return list
	}
	own.Body = separated(p.Body)
	return &own
}

// kernels returns the program's kernels with column counts for other parameter values. A column count changes like the
// kernel's row, or else like the first row length of its operands that had the same value originally. If there is none, it
// changes like a named extent that had this value and changes.
func (s *search) kernels(now calls.Values) (list []*calls.Kernel) {
	before := s.program.Values()
	rows, last, kernels := map[string][]expr.Expr{}, lastExtents(s.program), calls.ByName(s.program.Kernels)
	for stmt := range calls.All(s.program.Body) {
		if l, ok := stmt.(*calls.Launch); ok && l.Own() && kernels[l.Kernel] != nil {
			rows[l.Kernel] = append(rows[l.Kernel], rowsOf(l, kernels[l.Kernel], last)...)
		}
	}
	names := slices.Sorted(maps.Keys(before))
	for _, k := range s.program.Kernels {
		rows := rows[k.Name]
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

// lastExtents returns the last extents of arguments, buffers and views, by name.
func lastExtents(p *calls.Program) map[string]expr.Expr {
	last := map[string]expr.Expr{}
	note := func(name string, shape []expr.Expr) {
		if len(shape) > 0 {
			last[name] = shape[len(shape)-1]
		}
	}
	for _, d := range p.Arguments {
		note(d.Name, d.Shape)
	}
	for _, d := range p.Buffers {
		note(d.Name, d.Shape)
	}
	for s := range calls.All(p.Body) {
		if d, ok := s.(*calls.Declare); ok {
			note(d.Name, d.Shape)
		}
	}
	return last
}

// rowsOf lists the last extents of the operands of a launch that its kernel reads or writes along their last axis.
func rowsOf(l *calls.Launch, k *calls.Kernel, last map[string]expr.Expr) (list []expr.Expr) {
	operands := append([]calls.Operand{l.Out}, l.In...)
	for i, operand := range operands[:min(len(operands), len(k.Uses))] {
		e, along := last[operand.At.Base], slices.Contains([]string{calls.ForElement, calls.ForColumn}, k.Uses[i])
		if n := len(operand.Strides); e != nil && along && (n == 0 || operand.Strides[n-1] == expr.Expr(expr.Int(1))) {
			list = append(list, e)
		}
	}
	return list
}
