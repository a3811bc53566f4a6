package interp

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/model/domain"
)

// compute issues a copy, a GEMM, an attention or a kernel as a task on its stream.
func (r *rank) compute(s calls.Stmt) error {
	v, err := r.operands(s)
	if err != nil {
		return err
	}
	var on calls.Stream
	var run func() error
	switch s := s.(type) {
	case *calls.Memcpy:
		on, run = s.On, copies(v)
	case *calls.Gemm:
		on, run = s.On, r.gemm(s, v)
	case *calls.Attend:
		on, run = s.On, r.attend(s, v)
	case *calls.Launch:
		on = s.On
		run, err = r.launch(s, v)
	default:
		return r.fail(s, "the interpreter does not know it")
	}
	if err != nil {
		return err
	}
	stream, err := r.on(s, on)
	if err != nil {
		return err
	}
	if g, ok := s.(*calls.Gemm); ok {
		if run, err = r.inWorkspace(g, stream, run); err != nil {
			return err
		}
	}
	t := r.issue(s, stream, run)
	if m, ok := s.(*calls.Memcpy); ok && r.reaches(m) {
		r.communicates(t, t)
	}
	return nil
}

// copies returns a function that copies the elements of a Memcpy or a Transfer.
func copies(v views) func() error {
	out, in := v[effects.Out].all(), v[effects.In].all()
	return func() error { copy(out, in); return nil }
}

// gemm returns a function that computes a GEMM as cuBLASLt does with the plan of the shape. Sums are in fp32, and the
// result rounds once.
func (r *rank) gemm(s *calls.Gemm, v views) func() error {
	d := r.machine.shapes[s.Shape]
	out, a, b := v[effects.Out], v[effects.A], v[effects.B]
	addend, bias, scalesA, scalesB := v[effects.Addend], v[effects.Bias], v[effects.ScalesA], v[effects.ScalesB]
	if d.Scales {
		return func() error { scaledGemm(v); return nil }
	}
	then, depth := domain.Epilogue(d.Then), a.extents[2]
	return func() error {
		each(out.extents, func(at []int64) {
			q, i, j := at[0], at[1], at[2]
			sum, x, y := float32(0), a.offset([]int64{q, i}), b.offset([]int64{q, 0, j})
			for range depth {
				sum += float32(a.data[x] * b.data[y])
				x, y = x+a.strides[2], y+b.strides[1]
			}
			value := float64(sum)
			if s.Bias != nil {
				value += bias.get(j)
			}
			if s.Addend != nil {
				value += addend.get(q, i, j)
			}
			if d.RowScales {
				value = float64(float32(float32(value*scalesA.get(i)) * float32(scalesB.get(j))))
			}
			out.set(at, then(value))
		})
		return nil
	}
}

// attend returns a function that computes an attention or its gradient. It fills the scratch memory with NaN.
func (r *rank) attend(s *calls.Attend, v views) func() error {
	d := calls.ByName(r.machine.program.Attentions)[s.Attention]
	a, _ := domain.AttentionOf(d.Fn)
	shape := r.machine.program.AttentionShape(d, r.number)
	in, out := effects.Arguments(s)
	return func() error {
		if s.Scratch.Base != "" {
			spoil(v[effects.Scratch].all())
		}
		data := make([][]float64, len(in))
		for i, n := range in {
			from := v[n]
			each(from.extents, func(index []int64) { data[i] = append(data[i], from.get(index...)) })
		}
		for i, made := range a.Run(shape, data) {
			if to := v[out[i]]; to.data != nil {
				at := 0
				each(to.extents, func(index []int64) { to.set(index, made[at]); at++ })
			}
		}
		return nil
	}
}
