package fromhost

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/calls/extents"
)

// dense returns dims of the given sizes, dense in memory. order lists the axes from outermost to innermost.
func dense(sizes []int64, order ...int) []dim {
	dims := make([]dim, len(sizes))
	stride := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		axis := order[i]
		dims[axis] = dim{axis: axis, extent: extents.Number(sizes[axis]), stride: extents.Number(stride)}
		stride *= sizes[axis]
	}
	return dims
}

func TestMatrix(t *testing.T) {
	for name, c := range map[string]struct {
		dims           []dim
		transposed, ok bool
	}{
		"rows":                    {dense([]int64{4, 6}, 0, 1), false, true},
		"columns":                 {dense([]int64{4, 6}, 1, 0), true, true},
		"many axes of rows":       {dense([]int64{3, 5, 4, 6}, 0, 1, 2, 3), false, true},
		"columns before all rows": {dense([]int64{3, 5, 4}, 2, 0, 1), true, true},
		"rows in another order":   {dense([]int64{3, 5, 4}, 1, 0, 2), true, false},
	} {
		if transposed, ok := matrix(c.dims); ok != c.ok || transposed != c.transposed {
			t.Errorf("%s: transposed %v, ok %v", name, transposed, ok)
		}
	}
}

// TestGemmOf checks that the axes of rows become one matrix if their rows are contiguous in memory, and batches
// otherwise.
func TestGemmOf(t *testing.T) {
	y := &buffer{dims: dense([]int64{8, 6}, 0, 1)}
	many := &buffer{dims: dense([]int64{3, 8, 6}, 0, 1, 2)}
	out, x := dense([]int64{1, 3, 4, 6}, 0, 1, 2, 3), dense([]int64{1, 3, 4, 8}, 0, 1, 2, 3)
	half := func(dims []dim) *buffer { // with half of the rows of each slice
		cut := append([]dim(nil), dims...)
		cut[2].extent = extents.Number(2)
		return &buffer{dims: cut}
	}
	turned := half(dense([]int64{1, 3, 4, 8}, 0, 2, 1, 3))
	apart := half(dense([]int64{1, 3, 4, 6}, 0, 2, 1, 3))
	byColumns := &buffer{dims: dense([]int64{4, 6}, 1, 0)}
	for name, c := range map[string]struct {
		out, x, y *buffer
		m, batch  int64
		strides   [3]int64 // of A, B, C
		misfit    *buffer
	}{
		"one run of rows":            {&buffer{dims: out}, &buffer{dims: x}, y, 12, 1, [3]int64{}, nil},
		"some rows of each slice":    {half(out), half(x), y, 2, 3, [3]int64{32, 0, 24}, nil},
		"a matrix for each batch":    {&buffer{dims: out[1:]}, &buffer{dims: x[1:]}, many, 4, 3, [3]int64{32, 48, 24}, nil},
		"some rows, and all of them": {half(out), &buffer{dims: dense([]int64{1, 3, 2, 8}, 0, 1, 2, 3)}, y, 2, 3, [3]int64{16, 0, 24}, nil},
		"columns that lie apart":     {byColumns, &buffer{dims: x[2:]}, y, 0, 0, [3]int64{}, byColumns},
		"rows in another order":      {apart, turned, y, 6, 1, [3]int64{}, nil},
	} {
		p, misfit := gemmOf(c.out, c.x, c.y, nil)
		switch {
		case misfit != c.misfit:
			t.Errorf("%s: %v does not fit, want %v", name, misfit, c.misfit)
		case misfit != nil:
		case p.m.Size != c.m || p.batch.Size != c.batch || [3]int64{p.strideA.Size, p.strideB.Size, p.strideC.Size} != c.strides:
			t.Errorf("%s: m %s, batch %s, strides %s, %s, %s", name, p.m, p.batch, p.strideA, p.strideB, p.strideC)
		}
	}
}

// TestRowsThatLieApart checks that a slice of the second operand along its columns, or along its summed axis, is read
// in place.
func TestRowsThatLieApart(t *testing.T) {
	matrix := func(k, rows, n, columns int64) *buffer {
		return &buffer{dims: []dim{{0, extents.Number(k), extents.Number(rows)}, {1, extents.Number(n), extents.Number(columns)}}}
	}
	for name, c := range map[string]struct {
		y         *buffer
		row       int64
		byColumns bool
	}{
		"dense":               {matrix(8, 6, 6, 1), 0, false},
		"some columns":        {matrix(8, 6, 2, 1), 6, false},
		"one column":          {matrix(8, 6, 1, 1), 6, false},
		"stored by columns":   {matrix(2, 1, 6, 8), 8, true},
		"one row by columns":  {matrix(1, 1, 6, 8), 8, true},
		"every other element": {matrix(8, 6, 3, 2), -1, false},
	} {
		k, n := c.y.dims[0].extent.Size, c.y.dims[1].extent.Size
		out, x := &buffer{dims: dense([]int64{1, n}, 0, 1)}, &buffer{dims: dense([]int64{1, k}, 0, 1)}
		p, misfit := gemmOf(out, x, c.y, nil)
		switch {
		case c.row < 0 && misfit == c.y:
		case misfit != nil:
			t.Errorf("%s: %v does not fit", name, misfit)
		case p.k.Size != k || p.n.Size != n || p.rowB.Size != c.row || p.transposeB != c.byColumns:
			t.Errorf("%s: k %s, n %s, rows of B at stride %d, by columns %v", name, p.k, p.n, p.rowB.Size, p.transposeB)
		}
	}
}

// TestGemmsInCalls checks which leading axes of a GEMM become separate calls, batches and rows.
func TestGemmsInCalls(t *testing.T) {
	of := func(sizes ...int64) *buffer {
		order := make([]int, len(sizes))
		for i := range order {
			order[i] = i
		}
		return &buffer{dims: dense(sizes, order...)}
	}
	for name, c := range map[string]struct {
		out, x, y, bias *buffer
		m, batch        int64
		strides         [3]int64   // strides of A, B and C
		calls           [][5]int64 // for each axis: its extent, and the strides of A, B, C and the bias
	}{
		"one batch of both":        {of(2, 3, 4, 5), of(2, 3, 4, 8), of(2, 3, 8, 5), nil, 4, 6, [3]int64{32, 40, 20}, nil},
		"the inner batches of one": {of(2, 3, 4, 5), of(2, 3, 4, 8), of(3, 8, 5), nil, 4, 3, [3]int64{32, 40, 20}, [][5]int64{{2, 96, 0, 60, 0}}},
		"the outer batches of one": {of(2, 3, 4, 5), of(2, 3, 4, 8), of(2, 1, 8, 5), nil, 12, 2, [3]int64{96, 40, 60}, nil},
		"one matrix for all":       {of(2, 3, 4, 5), of(4, 8), of(2, 3, 8, 5), nil, 4, 6, [3]int64{0, 40, 20}, nil},
		"a bias for each batch":    {of(3, 4, 5), of(3, 4, 8), of(3, 8, 5), of(3, 5), 4, 1, [3]int64{}, [][5]int64{{3, 32, 40, 20, 5}}},
		"a bias for some batches": {
			of(2, 3, 4, 5), of(2, 3, 4, 8), of(2, 1, 8, 5), of(2, 1, 5), 12, 1, [3]int64{}, [][5]int64{{2, 96, 40, 60, 5}},
		},
		"one bias for all":          {of(3, 4, 5), of(3, 4, 8), of(3, 8, 5), of(1, 5), 4, 3, [3]int64{32, 40, 20}, nil},
		"batches of two operands":   {of(2, 3, 4, 5), of(2, 1, 4, 8), of(3, 8, 5), nil, 4, 3, [3]int64{0, 40, 20}, [][5]int64{{2, 32, 0, 60, 0}}},
		"both by columns, in turns": {of(3, 4, 5), &buffer{dims: dense([]int64{3, 4, 8}, 2, 1, 0)}, of(3, 8, 5), nil, 0, 0, [3]int64{}, nil},
	} {
		p, misfit := gemmOf(c.out, c.x, c.y, c.bias)
		var calls [][5]int64
		for _, a := range p.calls {
			calls = append(calls, [5]int64{a.extent.Size, a.a.Size, a.b.Size, a.c.Size, a.bias.Size})
		}
		switch {
		case c.m == 0 && misfit == c.x:
		case misfit != nil:
			t.Errorf("%s: %v does not fit", name, misfit)
		case p.m.Size != c.m || p.batch.Size != c.batch || !slices.Equal(calls, c.calls) ||
			[3]int64{p.strideA.Size, p.strideB.Size, p.strideC.Size} != c.strides:
			t.Errorf("%s: m %s, batch %s, strides %s, %s, %s, calls %v", name, p.m, p.batch, p.strideA, p.strideB, p.strideC, calls)
		}
	}
}
