package unroll

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// launch issues a kernel. Operands are accessed along the axes of their views, or as contiguous memory if they have none.
// Operands of a program's kernel are accessed by rows and columns.
func (i *issue) launch(s *calls.Launch) {
	on, ok := i.on(s, s.On)
	if !ok {
		return
	}
	o := i.begin(s, Launch, on)
	if s.Kernel == "positions" {
		first, _ := i.value(s, s.First)
		o.Arg = int32(first)
	}
	if k := i.kernels[s.Kernel]; k != nil && s.Own() {
		i.rows(s, k)
	} else {
		i.view(s, 0, s.Out, s.OutType)
		for n, in := range s.In {
			i.view(s, int16(n+1), in, s.InType)
		}
	}
	i.end(o)
}

// view adds an operand of a kernel of the runtime.
func (i *issue) view(s *calls.Launch, operand int16, o calls.Operand, t domain.DType) {
	at, ok := i.at(s, o.At)
	if !ok {
		return
	}
	extents, strides := []int64{0}, []int64{1}
	if s.Elements != nil {
		extents[0], ok = i.value(s, s.Elements)
	} else {
		var both [2]bool
		extents, both[0] = i.values(s, o.Extents)
		strides, both[1] = i.values(s, o.Strides)
		ok = both[0] && both[1] && len(extents) == len(strides)
	}
	if !ok {
		i.fault(s, BadValue, "operand %d has no extents, or not as many strides", operand)
		return
	}
	i.touch(s, operand, operand == 0, at, t.Size(), extents, strides)
}

// rows adds the operands of a kernel of the program.
func (i *issue) rows(s *calls.Launch, k *calls.Kernel) {
	count, columns := int64(1), k.Columns
	if s.Elements != nil {
		var ok bool
		if count, ok = i.value(s, s.Elements); !ok {
			return
		}
		if columns == 0 {
			count, columns = 1, count
		}
	}
	for n, o := range append([]calls.Operand{s.Out}, s.In...) {
		if o.At.Base == "" || n >= len(k.Uses) {
			continue // positions, which are in no memory
		}
		extents, strides, ok := []int64{count, columns}, []int64{columns, 1}, true
		switch use := k.Uses[n]; {
		case k.Views:
			extents, strides, ok = i.scattered(s, o, columns)
			if ok && (use == calls.ForRow || use == calls.ForSeed) {
				strides[len(strides)-1] = 0
			}
		case use == calls.ForColumn:
			strides = []int64{0, 1}
		case use == calls.ForRow:
			strides = []int64{1, 0}
		}
		if ok && n < int(k.Results) && k.Uses[n] == calls.ForRow {
			extents[len(extents)-1] = 1 // stored once
		}
		if ok && n < int(k.Results) && k.Uses[n] == calls.ForColumn {
			for outer := range extents[:len(extents)-1] {
				extents[outer] = 1 // folded over rows
			}
		}
		if at, found := i.at(s, o.At); ok && found {
			i.touch(s, int16(n), n < int(k.Results), at, domain.DType(k.Types[n]).Size(), extents, strides)
		}
	}
}

// scattered returns the extents and strides of an operand with strided rows. Its extents are the extents of the first result,
// and the columns.
func (i *issue) scattered(s *calls.Launch, o calls.Operand, columns int64) (extents, strides []int64, ok bool) {
	extents, ok = i.values(s, s.Out.Extents)
	if !ok {
		return nil, nil, false
	}
	strides, ok = i.values(s, o.Strides)
	if !ok || len(strides) != len(extents)+1 {
		i.fault(s, BadValue, "an operand has %d strides for %d axes and columns", len(strides), len(extents))
		return nil, nil, false
	}
	return append(extents, columns), strides, true
}

func (i *issue) values(s calls.Stmt, list []expr.Expr) ([]int64, bool) {
	values := make([]int64, len(list))
	for n, e := range list {
		var ok bool
		if values[n], ok = i.value(s, e); !ok {
			return values, false
		}
	}
	return values, true
}
