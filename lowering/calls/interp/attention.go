package interp

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// attend returns the work of an attention or of its gradient.
func (r *rank) attend(s *calls.Attend) (func() error, error) {
	d := calls.ByName(r.machine.program.Attentions)[s.Attention]
	a, _ := domain.AttentionOf(d.Fn)
	shape, err := r.attentionShape(s, d)
	if err != nil {
		return nil, err
	}
	queries := []int64{shape.Batch, shape.QueryHeads, shape.QueryRows, shape.Size}
	keys := []int64{shape.Batch, shape.KeyHeads, shape.KeyRows, shape.Size}
	logs := []expr.Expr{expr.Int(shape.QueryHeads * shape.QueryRows), expr.Int(shape.QueryRows), expr.Int(1)}
	v := attendViews{rank: r, stmt: s}
	q, k, values := v.view(s.Q, d.Q, queries), v.view(s.K, d.K, keys), v.view(s.V, d.V, keys)
	o, sums := v.view(s.O, d.O, queries), v.view(s.Logs, logs, append(queries[:3:3], 1))
	in, out, types := []*view{q, k, values}, []*view{o, sums}, []domain.DType{d.Type, domain.FP32}
	if s.GradO.Base != "" {
		in = []*view{v.view(s.GradO, d.GradO, queries), q, k, values, o, sums}
		out = []*view{v.view(s.GradQ, d.GradQ, queries), v.view(s.GradK, d.GradK, keys), v.view(s.GradV, d.GradV, keys)}
		types = []domain.DType{d.Type, d.Type, d.Type}
	}
	if v.err != nil {
		return nil, v.err
	}
	room := r.memory[s.Room.Base]
	return func() error {
		spoil(room)
		data := make([][]float64, len(in))
		for i, from := range in {
			each(from.extents, func(index []int64) { data[i] = append(data[i], from.data[from.offset(index)]) })
		}
		for i, made := range a.Run(shape, data) {
			if to := out[i]; to != nil {
				at := 0
				each(to.extents, func(index []int64) { to.data[to.offset(index)] = types[i].Round(made[at]); at++ })
			}
		}
		return nil
	}, nil
}

// attentionShape returns the extents of an attention on the rank.
func (r *rank) attentionShape(s *calls.Attend, d *calls.Attention) (domain.AttentionShape, error) {
	shape := domain.AttentionShape{Blocks: 1}
	for _, extent := range []struct {
		to   *int64
		from expr.Expr
	}{
		{&shape.Batch, d.Batch}, {&shape.QueryHeads, d.QueryHeads}, {&shape.KeyHeads, d.KeyHeads}, {&shape.QueryRows, d.QueryRows},
		{&shape.KeyRows, d.KeyRows}, {&shape.Size, d.Size}, {&shape.Start, d.Start},
	} {
		var err error
		if *extent.to, err = r.eval(s, extent.from); err != nil {
			return shape, err
		}
	}
	shape.Share = shape.QueryHeads / shape.KeyHeads
	if p := r.machine.program; d.Mesh != "" {
		at, _ := p.Coordinate(p.MeshNamed(d.Mesh), d.Axis, r.number)
		shape.Start += at * shape.QueryRows
	}
	return shape, nil
}

// attendViews resolves the operands of an attention.
type attendViews struct {
	*rank
	stmt *calls.Attend
	err  error // the first error
}

// view resolves an operand; nil if it is absent.
func (a *attendViews) view(at calls.Pointer, strides []expr.Expr, extents []int64) *view {
	if at.Base == "" || a.err != nil {
		return nil
	}
	v := &view{extents: extents}
	if v.place, a.err = a.at(a.stmt, at); a.err != nil {
		return nil
	}
	end := int64(1)
	for i, extent := range extents {
		stride := int64(1)
		if i < len(strides) {
			if stride, a.err = a.eval(a.stmt, strides[i]); a.err != nil {
				return nil
			}
		}
		v.strides = append(v.strides, stride)
		end += (extent - 1) * stride
	}
	_, a.err = a.run(a.stmt, v.place, end)
	return v
}
