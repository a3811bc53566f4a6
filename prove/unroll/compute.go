package unroll

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// operand is an operand of a statement, with the number of its layout.
type operand struct {
	*effects.Operand
	layout int32 // -1: it depends on the rank or on loops, or has no number yet
}

// work issues a copy, a GEMM, an attention or a kernel. lane is the Lane of its operation.
func (i *issuing) work(s calls.Stmt, kind Kind, stream calls.Stream, lane uint16) {
	on, ok := i.On(s, stream)
	if !ok {
		return
	}
	o := i.begin(s, kind, on)
	o.Lane = lane
	if l, ok := s.(*calls.Launch); ok && l.Kernel == "positions" {
		first, _ := i.Value(s, l.First)
		o.Arg = int32(first)
	}
	i.operands(s)
	if _, works := calls.WorkspaceOf(s); works {
		if memory, ok := i.Workspace(s); ok {
			i.byte(effects.WorkspaceOf(s), true, memory)
		}
	}
	i.end(o)
}

// operands adds to the current operation the reads and writes of a statement's operands.
func (i *issuing) operands(s calls.Stmt) {
	list, known := i.known[s]
	if !known {
		operands, err := i.effects.Of(s)
		if err != nil {
			i.fault(s, issue.BadName, "%v", err)
		}
		for n := range operands {
			list = append(list, operand{&operands[n], -1})
		}
		i.known[s] = list
	}
	for n := range list {
		o := &list[n]
		at, ok := i.At(s, o.At)
		if !ok || o.Type == calls.InPositions || !i.there(s, o.Number, at, o.Type) {
			continue
		}
		layout := o.layout
		if layout < 0 {
			if layout, ok = i.layoutOf(s, o, at); !ok {
				continue
			}
		}
		i.place(s, o.Number, o.Write, at, layout)
	}
}

// layoutOf returns the number of the layout of an operand at a place. It caches the number in o if all extents and
// strides are constants.
func (i *issuing) layoutOf(s calls.Stmt, o *operand, at issue.Place) (layout int32, ok bool) {
	if o.Rest {
		return i.layout(at.Type.Size(), []int64{(at.Of.End - at.Offset) / at.Type.Size()}, []int64{1}), true
	}
	fixed, ok := true, true
	values := func(list []expr.Expr) []int64 {
		values := make([]int64, len(list))
		for n, e := range list {
			value, known := i.Value(s, e)
			values[n], ok, fixed = value, ok && known, fixed && i.Fixed(e)
		}
		return values
	}
	if layout = i.layout(o.Type.Size(), values(o.Extents), values(o.Strides)); ok && fixed {
		o.layout = layout
	}
	return layout, ok
}
