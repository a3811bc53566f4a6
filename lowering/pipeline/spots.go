package pipeline

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// spots caches the positions of tensors in their buffers, which every iteration on every rank needs. The value is nil
// if spotOf cannot find the position.
type spots map[*hostir.Tensor]*spot

// spot is the position of a tensor: its buffer, its runs if all indices are 0, and the indices that move the runs.
type spot struct {
	buffer  *hostir.Tensor
	runs    []run
	indices []index
}

// index is the index of a Select. It has count valid values, from 0. The runs move by step elements if it grows by 1.
type index struct {
	of          expr.Expr
	count, step int64
}

// of returns the buffer of a tensor, an offset, and runs to which the offset must be added. It fails if an index has no value or is
// out of range.
func (p spots) of(t *hostir.Tensor, eval func(expr.Expr) (int64, error)) (buffer *hostir.Tensor, offset int64, list []run, err error) {
	at, known := p[t]
	if !known {
		at = spotOf(t)
		p[t] = at
	}
	if at != nil {
		for _, i := range at.indices {
			v, err := eval(i.of)
			if err != nil || v < 0 || v >= i.count {
				at = nil // WindowOf makes the error
				break
			}
			offset += v * i.step
		}
	}
	if at != nil {
		return at.buffer, offset, at.runs, nil
	}
	w, err := hostir.WindowOf(t, eval)
	return w.Buffer, 0, runs(w), err
}

// spotOf finds the position of a tensor. It returns nil if the position depends on a condition or cannot be computed. An index moves a
// window, and does not change its shape.
func spotOf(t *hostir.Tensor) *spot {
	zero := func(expr.Expr) (int64, error) { return 0, nil }
	first, err := hostir.WindowOf(t, zero)
	if err != nil {
		return nil
	}
	p := &spot{buffer: first.Buffer, runs: runs(first)}
	for view := t; view.Of != nil; {
		switch s := view.Of.(type) {
		case *hostir.Either:
			return nil
		case *hostir.Select:
			p.indices = append(p.indices, index{of: s.Index, count: s.Indices()})
			view = s.In
		default:
			view = hostir.Uses(s)[0]
		}
	}
	for i := range p.indices {
		if p.indices[i].count == 1 {
			continue
		}
		left := len(p.indices) - i // WindowOf first evaluates the index of the view next to the buffer
		w, err := hostir.WindowOf(t, func(expr.Expr) (int64, error) {
			if left--; left == 0 {
				return 1, nil
			}
			return 0, nil
		})
		if err != nil {
			return nil
		}
		p.indices[i].step = w.Offset - first.Offset
	}
	return p
}
