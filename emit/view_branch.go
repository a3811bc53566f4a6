package emit

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// branch prints an If.
func (b *builder) branch(s *hostir.If) ([]node, error) {
	views := b.declareViews(s)
	before, gemms := b.current, len(b.view.Gemms)
	cond := b.scope.rename(fold(s.Cond))
	body, err := b.under(condition{holds: cond}, s.Body)
	if err != nil {
		return nil, err
	}
	after, both := b.current, len(b.view.Gemms)
	b.current = before
	otherwise, err := b.under(condition{holds: cond, not: true}, s.Else)
	if err != nil {
		return nil, err
	}
	b.current = b.current.join(after)
	if list := b.view.Gemms; sameGemms(list[gemms:both], list[both:]) {
		b.view.Gemms = list[:both] // an iteration takes one side
	}
	var nodes []node
	for _, buf := range views {
		b.buffers[buf.tensor] = buf // what the sides knew holds on neither path alone
		nodes = append(nodes, &declareNode{Const: buf.input, Type: buf.typ.Alias, Name: buf.name, Shape: buf.shape()})
	}
	return append(nodes, &ifNode{b.source(s), b.spell(cond), body, otherwise}), nil
}

// under prints one side of an If.
func (b *builder) under(c condition, side []hostir.Stmt) ([]node, error) {
	b.conditions = append(b.conditions, c)
	defer func() { b.conditions = b.conditions[:len(b.conditions)-1] }()
	return b.list(side)
}

// sameGemms reports whether both sides of an If compute as much.
func sameGemms(one, other []gemmView) bool {
	size := func(p gemmView) [4]int64 { return [4]int64{p.M.size, p.N.size, p.K.size, p.Batch.size} }
	return slices.EqualFunc(one, other, func(p, q gemmView) bool { return size(p) == size(q) })
}

// declareViews declares the views that both sides of an If make, each of a buffer of its
// own: their names outlive the sides. Which memory they are in is known on each side alone.
func (b *builder) declareViews(s *hostir.If) []*buffer {
	var views []*buffer
	then, other := selects(s.Body), selects(s.Else)
	for _, view := range then {
		i := slices.IndexFunc(other, func(o *hostir.Select) bool { return o.Out == view.Out })
		if _, known := b.buffers[view.Out]; known || i < 0 || !b.used[view.Out] {
			continue
		}
		buf := b.newBuffer(view.Out, b.variable(view.Out))
		buf.memory = ""
		buf.input = b.ofInput(view.In, then) || b.ofInput(other[i].In, other)
		b.declare(view.Out, buf)
		views = append(views, buf)
	}
	return views
}

// ofInput reports whether a tensor, or what a side of a branch selects it from, is the
// caller's to write.
func (b *builder) ofInput(t *hostir.Tensor, side []*hostir.Select) bool {
	if buf, ok := b.buffers[t]; ok {
		return buf.input
	}
	i := slices.IndexFunc(side, func(s *hostir.Select) bool { return s.Out == t })
	return i >= 0 && b.ofInput(side[i].In, side)
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

// declareNode declares a pointer that an If sets.
type declareNode struct {
	Const             bool
	Type, Name, Shape string
}

func (*declareNode) template() string { return "stmt/declare" }
