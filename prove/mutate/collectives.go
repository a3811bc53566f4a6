package mutate

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// meets reports whether other ranks take part in a statement: a call of NCCL, or a statement that contains one.
func meets(s calls.Stmt) bool {
	return calls.Any([]calls.Stmt{s}, calls.Is[*calls.NcclCall])
}

// swapCollectives exchanges two successive statements that meet other ranks, on the last rank.
func swapCollectives(e *editor, list []calls.Stmt) []calls.Stmt {
	before := -1
	for i, s := range list {
		if !meets(s) {
			continue
		}
		if before >= 0 && e.here(s, "before %s, on rank %d", calls.Op(list[before]), e.last()) {
			there := e.copied(list[before : i+1]...)
			end := len(there) - 1
			there[0], there[end] = there[end], there[0]
			return append(list[:before:before], append([]calls.Stmt{e.onLast(there, list[before:i+1:i+1])}, list[i+1:]...)...)
		}
		before = i
	}
	return list
}

// reverseLoop makes the last rank run the iterations of a loop with NCCL calls in reverse order.
func reverseLoop(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		loop, ok := s.(*calls.For)
		if !ok || !meets(s) || !e.here(s, "backwards on rank %d", e.last()) {
			continue
		}
		backwards, _ := e.copied(loop)[0].(*calls.For)
		mirrored := expr.Op("-", expr.Op("+", loop.Count, expr.Int(loop.First)), expr.Op("+", expr.Var(loop.Var), expr.Int(1)))
		calls.RewriteAll(backwards.Body, &calls.Rewriter{Expression: func(x expr.Expr) expr.Expr {
			return expr.Substitute(x, map[string]expr.Expr{loop.Var: mirrored})
		}})
		list[i] = e.onLast([]calls.Stmt{backwards}, []calls.Stmt{loop})
	}
	return list
}

func dropCollective(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		if calls.Is[*calls.NcclCall](s) && e.here(s, "left out on rank %d", e.last()) {
			list[i] = e.onLast(nil, []calls.Stmt{s})
		}
	}
	return list
}

// onOneRank applies change to a call of NCCL on the last rank. what describes the change.
func onOneRank(e *editor, list []calls.Stmt, what string, change func(s *calls.NcclCall)) []calls.Stmt {
	for i, s := range list {
		if calls.Is[*calls.NcclCall](s) && e.here(s, "%s on rank %d", what, e.last()) {
			there := e.copied(s)
			if c, ok := there[0].(*calls.NcclCall); ok {
				change(c)
			}
			list[i] = e.onLast(there, []calls.Stmt{s})
		}
	}
	return list
}

func wrongCount(e *editor, list []calls.Stmt) []calls.Stmt {
	return onOneRank(e, list, "an element less", func(s *calls.NcclCall) { s.Count = expr.Op("-", s.Count, expr.Int(1)) })
}

func wrongType(e *editor, list []calls.Stmt) []calls.Stmt {
	return onOneRank(e, list, "another element type", func(s *calls.NcclCall) {
		if s.Type == domain.FP32 {
			s.Type = domain.BF16
		} else {
			s.Type = domain.FP32
		}
	})
}

func wrongRoot(e *editor, s *calls.NcclCall) {
	if s.Root != nil && e.here(s, "the next root") {
		s.Root = next(s.Root, expr.Int(int64(e.teamSize(s.Team))))
	}
}

func (e *editor) teamSize(name string) int {
	for _, t := range e.program.Teams {
		if t.Name == name {
			m := e.program.MeshNamed(t.Mesh)
			if t.Whole {
				return len(e.program.Members(m))
			}
			n, _ := e.program.Values().Eval(m.Extents[t.Axis])
			return int(n)
		}
	}
	return 1
}

func wrongReduction(e *editor, s *calls.NcclCall) {
	if s.Fn == "" {
		return
	}
	fn := "max"
	if s.Fn == fn {
		fn = "sum"
	}
	if e.here(s, "%s", fn) {
		s.Fn = fn
	}
}

// likely returns another collective whose operands and results have the same sizes, or else an allreduce. It returns nil for a
// broadcast, a send_recv, and a call that is no collective.
func likely(kind string) *collective.Row {
	of := collective.Of(kind)
	if of == nil || of.Copies() {
		return nil
	}
	sent, received := of.Slices(2)
	for _, r := range collective.Rows() {
		if a, b := r.Slices(2); r != of && a == sent && b == received {
			return r
		}
	}
	return collective.Allreduce.Row()
}

func wrongCollective(e *editor, s *calls.NcclCall) {
	other := likely(s.Kind)
	if other == nil || !e.here(s, "%s", other.Call) {
		return
	}
	if s.Kind, s.Root = other.Call, nil; other.Rooted() {
		s.Root = expr.Int(0)
	}
	if other.Reduces {
		s.Fn = "sum"
	}
}

// ungroup removes a group, so that its calls are issued one after the other.
func ungroup(e *editor, list []calls.Stmt) []calls.Stmt {
	for i, s := range list {
		g, ok := s.(*calls.NcclGroup)
		if !ok || !e.here(s, "not a group") {
			continue
		}
		for c := range calls.Each[*calls.NcclCall](g.Body) {
			c.Grouped = false
		}
		return append(list[:i:i], append(g.Body, list[i+1:]...)...)
	}
	return list
}
