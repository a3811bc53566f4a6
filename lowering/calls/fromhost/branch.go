package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// branch lowers an If. A view that both sides make becomes a pointer that is declared before it, with
// the value of each side: naming memory takes no call.
func (b *builder) branch(s *hostir.If) ([]calls.Stmt, error) {
	views := b.splitViews(s)
	cond := b.scope.Rename(expr.Fold(s.Cond))
	gemms := len(b.out.Report.Gemms)
	body, then, err := b.under(condition{holds: cond}, s.Body, views)
	if err != nil {
		return nil, err
	}
	both := len(b.out.Report.Gemms)
	otherwise, other, err := b.under(condition{holds: cond, not: true}, s.Else, views)
	if err != nil {
		return nil, err
	}
	if list := b.out.Report.Gemms; sameGemms(list[gemms:both], list[both:]) {
		b.out.Report.Gemms = list[:both] // an iteration takes one side
	}
	spelled := b.spelled(cond)
	var list []calls.Stmt
	for i, t := range views {
		delete(b.split, t)
		buf := b.newBuffer(t, b.variable(t))
		buf.known, buf.input = false, then[i].input || other[i].input
		b.declare(t, buf)
		list = append(list, &calls.Declare{
			Name: buf.base, Type: buf.typ, Const: buf.input, Value: b.place(then[i]), Cond: spelled, Else: b.place(other[i]), Shape: buf.shape(),
		})
	}
	return append(list, &calls.If{Cond: spelled, Body: body, Else: otherwise}), nil
}

// under lowers one side of an If, and gives the memory that views have at its end.
func (b *builder) under(c condition, side []hostir.Stmt, views []*hostir.Tensor) (list []calls.Stmt, at []*buffer, err error) {
	b.conditions = append(b.conditions, c)
	defer func() { b.conditions = b.conditions[:len(b.conditions)-1] }()
	hidden := map[*hostir.Tensor]*buffer{}
	for _, t := range views {
		hidden[t] = nil
	}
	b.keep = append(b.keep, hidden)
	list, err = b.list(side)
	b.keep = b.keep[:len(b.keep)-1]
	for _, t := range views {
		at = append(at, hidden[t])
	}
	return list, at, err
}

// sameGemms reports whether both sides of an If compute as much.
func sameGemms(one, other []Size) bool {
	return slices.EqualFunc(one, other, func(p, q Size) bool { return p.size == q.size })
}

// splitViews lists the views that both sides of an If make, each of a buffer of its own: their
// names outlive the sides.
func (b *builder) splitViews(s *hostir.If) []*hostir.Tensor {
	var views []*hostir.Tensor
	other := selects(s.Else)
	for _, view := range selects(s.Body) {
		_, known := b.buffers[view.Out]
		made := slices.ContainsFunc(other, func(o *hostir.Select) bool { return o.Out == view.Out })
		if !known && made && !slices.Contains(views, view.Out) {
			views = append(views, view.Out)
			b.split[view.Out] = true
		}
	}
	return views
}

// selects lists the Selects of one list of statements.
func selects(body []hostir.Stmt) []*hostir.Select {
	var list []*hostir.Select
	for _, s := range body {
		if sel, ok := s.(*hostir.Select); ok {
			list = append(list, sel)
		}
	}
	return list
}
