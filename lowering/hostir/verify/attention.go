package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// attention checks the operands and the additional results of an Attention. The first result is also checked as for other
// statements. It returns false after a breach.
func (v *verifier) attention(s *hostir.Attention) bool {
	a, known := domain.AttentionOf(s.Fn)
	grad, n := s.IsGrad(), len(s.In)
	if !known || n != 3 && n != 6 || grad && len(s.Out) != 3 || !grad && len(s.Out) > 2 {
		v.breach(s, "shape", "%q of %d operands and %d results is no attention", s.Fn, n, len(s.Out))
		return false
	}
	q, k := domain.Shape(s.Queries().Axes), domain.Shape(s.Keys().Axes)
	like := func(t *hostir.Tensor, dtype domain.DType, shape []int64) bool {
		if slices.Equal(domain.Shape(t.Axes), shape) && t.DType == dtype {
			return true
		}
		v.breach(s, "shape", "%s %s %s does not fit an attention of %s %s", t.Name, t.DType, domain.FormatAxes(t.Axes),
			s.Queries().Name, domain.FormatAxes(s.Queries().Axes))
		return false
	}
	dtype := s.Queries().DType
	if len(k) < 3 || len(q) < len(k) || len(q) > len(k)+1 || (len(q) > len(k)) != (a.Split != "") || q[len(q)-1] != k[len(k)-1] ||
		!sharesEvenly(a.Shape(q, k)) {
		v.breach(s, "shape", "%s %s attends to %s %s", s.Queries().Name, domain.FormatAxes(s.Queries().Axes), s.Keys().Name,
			domain.FormatAxes(s.Keys().Axes))
		return false
	}
	ok := like(s.Keys(), dtype, k) && like(s.Out[0], dtype, q)
	logs, gradient := q[:len(q)-1], k
	if s.Blocks() != hostir.Unmapped {
		gradient = append([]int64{q[0]}, k...)
	}
	switch {
	case !grad:
		ok = ok && like(s.In[2], dtype, k)
		for _, t := range s.Out[1:] {
			ok = ok && like(t, domain.FP32, logs)
		}
	default:
		ok = ok && like(s.In[0], dtype, q) && like(s.In[3], dtype, k) && like(s.In[4], dtype, q) && like(s.In[5], domain.FP32, logs) &&
			like(s.Out[1], dtype, gradient) && like(s.Out[2], dtype, gradient)
	}
	return ok && v.attends(s)
}

// sharesEvenly reports whether query heads share key heads in groups of equal size, and each block of query heads has whole
// groups or is a part of one group.
func sharesEvenly(s domain.AttentionShape) bool {
	return s.Share > 0 && s.InBlocks() && (s.Share*s.KeyHeads == s.QueryHeads || s.HeadsStep > 0 &&
		s.Share*s.KeyHeads == s.QueryHeads*s.Blocks)
}

// attends checks that, in a lowered program, each split axis of an additional result matches an axis of the first result that is
// split over the same mesh axis. It returns false after a breach.
func (v *verifier) attends(s *hostir.Attention) bool {
	for i, row := range hostir.FurtherMaps(s) {
		for axis, along := range row {
			a := s.Out[i+1].Axes[axis]
			if v.lowered && hostir.SplitOver(a) != "" &&
				(along == hostir.Unmapped || hostir.SplitOver(a) != hostir.SplitOver(s.Out[0].Axes[along])) {
				v.breach(s, "local", "axis %d of %s is split over other ranks than %s", axis, s.Out[i+1].Name, s.Out[0].Name)
				return false
			}
		}
	}
	return true
}
