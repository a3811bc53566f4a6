package unroll

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/effects"
)

// work issues a copy, a GEMM, an attention or a kernel.
func (i *issue) work(s calls.Stmt, kind Kind, stream calls.Stream) {
	on, ok := i.on(s, stream)
	if !ok {
		return
	}
	o := i.begin(s, kind, on)
	if l, ok := s.(*calls.Launch); ok && l.Kernel == "positions" {
		first, _ := i.value(s, l.First)
		o.Arg = int32(first)
	}
	i.operands(s)
	if _, works := calls.WorkspaceOf(s); works {
		i.workspace(s, effects.WorkspaceOf(s))
	}
	i.end(o)
}

// operands adds accesses to the operands of a statement.
func (i *issue) operands(s calls.Stmt) {
	list, err := i.effects.Of(s)
	if err != nil {
		i.fault(s, BadName, "%v", err)
	}
	for n := range list {
		o := &list[n]
		at, ok := i.at(s, o.At)
		if !ok || o.Type == calls.InPositions {
			continue
		}
		if size := o.Type.Size(); i.there(s, o.Number, at, size) {
			if layout, ok := i.layoutOf(s, o, at); ok {
				i.place(s, o.Number, o.Write, at, layout)
			}
		}
	}
}

// layoutOf returns the layout of an operand at a place. It computes layouts of constants once.
func (i *issue) layoutOf(s calls.Stmt, o *effects.Operand, at place) (layout int32, ok bool) {
	if layout, ok = i.fixed[o]; ok {
		return layout, true
	}
	if o.Rest {
		return i.layout(at.size, []int64{(at.of.end - at.offset) / at.size}, []int64{1}), true
	}
	fixed := true
	values := func(list []expr.Expr) []int64 {
		values := make([]int64, len(list))
		for n, e := range list {
			value, known := i.value(s, e)
			values[n], ok, fixed = value, ok && known, fixed && (e == nil || i.scope.compile(e).op == 'k')
		}
		return values
	}
	ok = true
	if layout = i.layout(o.Type.Size(), values(o.Extents), values(o.Strides)); ok && fixed {
		i.fixed[o] = layout
	}
	return layout, ok
}
