package emit

import "testing"

// dense makes axes that are laid out in the order given, from outermost to innermost.
func dense(extents []int64, order ...int) []dim {
	dims := make([]dim, len(extents))
	stride := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		axis := order[i]
		dims[axis] = dim{axis: axis, extent: number(extents[axis]), stride: number(stride)}
		stride *= extents[axis]
	}
	return dims
}

func TestMatrix(t *testing.T) {
	out := dense([]int64{3, 5, 4, 6}, 0, 1, 2, 3)
	for name, c := range map[string]struct {
		dims           []dim
		inner          int
		batch          []dim
		stride         int64
		transposed, ok bool
	}{
		"rows":                         {dense([]int64{4, 6}, 0, 1), 2, nil, 0, false, true},
		"columns":                      {dense([]int64{4, 6}, 1, 0), 2, nil, 0, true, true},
		"many axes of rows":            {out, 4, nil, 0, false, true},
		"columns before all rows":      {dense([]int64{3, 5, 4}, 2, 0, 1), 3, nil, 0, true, true},
		"rows in another order":        {dense([]int64{3, 5, 4}, 1, 0, 2), 3, nil, 0, false, false},
		"a batch":                      {out, 2, out[:2], 24, false, true},
		"a batch of turned matrices":   {dense([]int64{3, 5, 4, 6}, 0, 1, 3, 2), 2, out[:2], 24, true, true},
		"one matrix for the batch":     {dense([]int64{4, 6}, 0, 1), 2, out[:2], 0, false, true},
		"one element along the batch":  {dense([]int64{1, 1, 4, 6}, 0, 1, 2, 3), 2, out[:2], 0, false, true},
		"one matrix for part of it":    {dense([]int64{5, 4, 6}, 0, 1, 2), 2, out[:2], 0, false, false},
		"batches in another order":     {dense([]int64{3, 5, 4, 6}, 1, 0, 2, 3), 2, out[:2], 0, false, false},
		"batches with rows in between": {dense([]int64{3, 4, 6}, 1, 0, 2), 2, out[1:2], 0, false, false},
	} {
		stride, transposed, ok := matrix(c.dims, c.inner, c.batch)
		if ok != c.ok || ok && (stride.size != c.stride || transposed != c.transposed) {
			t.Errorf("%s: stride %s, transposed %v, ok %v", name, stride, transposed, ok)
		}
	}
}
