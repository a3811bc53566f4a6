package domain

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func normal(r *rand.Rand, n int64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = r.NormFloat64()
	}
	return list
}

// attentionCases are attentions of different kinds.
var attentionCases = map[string]struct {
	Attention
	q, k []int64
}{
	"full":         {Attention{Scale: 0.5}, []int64{2, 3, 4, 7}, []int64{2, 3, 5, 7}},
	"causal":       {Attention{Scale: 0.5, Causal: true}, []int64{2, 3, 5, 4}, []int64{2, 3, 5, 4}},
	"later":        {Attention{Scale: 0.5, Causal: true}, []int64{1, 2, 4}, []int64{1, 5, 4}},
	"grouped":      {Attention{Scale: 0.25, Causal: true}, []int64{2, 6, 3, 4}, []int64{2, 2, 3, 4}},
	"window":       {Attention{Scale: 0.25, Causal: true, Window: 2}, []int64{4, 5, 3}, []int64{1, 6, 3}},
	"own key":      {Attention{Scale: 0.25, Causal: true, Window: 1}, []int64{2, 5, 3}, []int64{2, 5, 3}},
	"rows":         {Attention{Scale: 0.5, Causal: true, Split: SplitRows}, []int64{3, 2, 4, 2, 3}, []int64{2, 2, 6, 3}},
	"heads":        {Attention{Scale: 0.5, Causal: true, Split: SplitHeads}, []int64{3, 2, 4, 2, 3}, []int64{2, 6, 5, 3}},
	"shared heads": {Attention{Scale: 0.5, Split: SplitHeads}, []int64{4, 2, 3, 2, 3}, []int64{2, 2, 5, 3}},
	"one key head": {Attention{Scale: 0.5, Causal: true, Split: SplitHeads}, []int64{3, 2, 4, 3}, []int64{1, 4, 3}},
}

// TestAttentionAgainstItsFormula compares the results of Forward with the formula, row by row.
func TestAttentionAgainstItsFormula(t *testing.T) {
	for name, c := range attentionCases {
		s := c.Shape(c.q, c.k)
		r := rand.New(rand.NewPCG(1, 2))
		q := normal(r, s.Blocks*s.Batch*s.QueryHeads*s.QueryRows*s.Size)
		k, v := normal(r, s.Batch*s.KeyHeads*s.KeyRows*s.Size), normal(r, s.Batch*s.KeyHeads*s.KeyRows*s.Size)
		o, logs := c.Forward(s, q, k, v)
		for row := range logs {
			head := int64(row) / s.QueryRows
			block, batch, number, at := head/(s.Batch*s.QueryHeads), head/s.QueryHeads%s.Batch, head%s.QueryHeads, int64(row)%s.QueryRows
			heads, rows := s.QueryHeads, s.QueryRows
			switch c.Split { // the head and the row with the blocks merged back
			case SplitHeads:
				number, heads = block*s.QueryHeads+number, s.Blocks*heads
			case SplitRows:
				at, rows = block*s.QueryRows+at, s.Blocks*rows
			}
			position, group := s.KeyRows-rows+at, batch*s.KeyHeads+number*s.KeyHeads/heads
			sum, want := 0.0, make([]float64, s.Size)
			for j := range s.KeyRows {
				if c.Causal && j > position || c.Window > 0 && j <= position-c.Window {
					continue
				}
				score, key := 0.0, (group*s.KeyRows+j)*s.Size
				for e := range s.Size {
					score += q[int64(row)*s.Size+e] * k[key+e]
				}
				weight := math.Exp(c.Scale * score)
				sum += weight
				for e := range s.Size {
					want[e] += weight * v[key+e]
				}
			}
			if math.Abs(logs[row]-math.Log(sum)) > 1e-12 {
				t.Errorf("%s: the logarithm of row %d is %v, not %v", name, row, logs[row], math.Log(sum))
			}
			for e, w := range want {
				if got := o[int64(row)*s.Size+int64(e)]; math.Abs(got-w/sum) > 1e-12 {
					t.Errorf("%s: O[%d, %d] is %v, not %v", name, row, e, got, w/sum)
				}
			}
		}
	}
}

// TestAttentionGradAgainstDifferences compares the gradient along a random direction with the central difference of the
// results in float64.
func TestAttentionGradAgainstDifferences(t *testing.T) {
	for name, c := range attentionCases {
		s := c.Shape(c.q, c.k)
		r := rand.New(rand.NewPCG(3, 4))
		var in, toward [3][]float64
		for i, n := range []int64{s.Blocks * s.QueryHeads * s.QueryRows, s.KeyHeads * s.KeyRows, s.KeyHeads * s.KeyRows} {
			in[i], toward[i] = normal(r, n*s.Batch*s.Size), normal(r, n*s.Batch*s.Size)
		}
		slope := normal(r, int64(len(in[0])))
		o, logs := c.Forward(s, in[0], in[1], in[2])
		dq, dk, dv := c.Backward(s, slope, in[0], in[1], in[2], o, logs)
		got := 0.0
		for i, g := range [][]float64{dq, dk, dv} {
			for j, v := range g {
				got += v * toward[i][j%len(toward[i])] // dK and dV have one array for each block
			}
		}
		const step = 1e-6
		want := 0.0
		for _, sign := range []float64{1, -1} {
			var moved [3][]float64
			for i := range in {
				for j, v := range in[i] {
					moved[i] = append(moved[i], v+sign*step*toward[i][j])
				}
			}
			o, _ := c.Forward(s, moved[0], moved[1], moved[2])
			for j, v := range o {
				want += sign * v * slope[j] / (2 * step)
			}
		}
		if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%s: the gradient along a direction is %v, and the difference %v", name, got, want)
		}
	}
}

func TestAttentionFn(t *testing.T) {
	for _, a := range []Attention{{Scale: 0.125}, {Scale: float64(float32(0.3)), Causal: true}, {Scale: 2, Causal: true, Window: 7},
		{Scale: 0.5, Split: SplitHeads}, {Scale: 0.5, Causal: true, Split: SplitRows}, {Scale: 0.5, Causal: true, Window: 2, Split: SplitHeads}} {
		if got, ok := AttentionOf(a.Fn()); !ok || got != a {
			t.Errorf("%s reads as %v", a.Fn(), got)
		}
	}
	for _, fn := range []string{"gelu", "scale(2)", "full", "full()", "full(1, 2)", "window(1)", "window(1, 0)", "window(1, x)", "causal(x)",
		"full(heads)", "window(1, rows)", "causal(1, columns)", "causal(1, heads, rows)"} {
		if a, ok := AttentionOf(fn); ok {
			t.Errorf("%q reads as %v", fn, a)
		}
	}
}

// TestSeenByAll compares SeenByAll with the sum of the numbers of keys that Seen returns for each query.
func TestSeenByAll(t *testing.T) {
	for _, a := range []Attention{{}, {Causal: true}, {Causal: true, Window: 1}, {Causal: true, Window: 5}, {Causal: true, Window: 100}} {
		for position := range int64(12) {
			for queries := range 13 - position {
				want := int64(0)
				for i := range queries {
					first, last := a.Seen(position+i, 12)
					want += last - first
				}
				if got := a.SeenByAll(position, queries, 12); got != float64(want) {
					t.Errorf("%+v: %d queries from %d on see %v keys of 12, want %d", a, queries, position, got, want)
				}
			}
		}
	}
	if got := (Attention{Causal: true}).SeenByAll(0, 1<<32, 1<<32); got != 0x1p63+0x1p31 {
		t.Errorf("%v", got)
	}
}

// TestObstaclesAreThoseOfTheRuntime checks that the runtime has the reasons of CudnnObstacle that depend on the shape or
// the element type, in the same words.
func TestObstaclesAreThoseOfTheRuntime(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "runtime_cpp", "src", "attention", "cudnn.cpp"))
	if err != nil {
		t.Fatal(err)
	}
	fits := AttentionShape{Size: 64, QueryRows: 8, KeyRows: 8}
	odd, behind := fits, fits
	odd.Size, behind.Start = 60, 1
	for _, c := range []struct {
		shape AttentionShape
		dtype DType
		may   bool
	}{{fits, BF16, true}, {fits, FP32, false}, {odd, FP16, false}, {behind, BF16, false}} {
		reason := c.shape.CudnnObstacle(c.dtype, true)
		if (reason == "") != c.may || !strings.Contains(string(source), `return "`+reason+`";`) {
			t.Errorf("%+v, %s: %q is none of the runtime's reasons", c.shape, c.dtype, reason)
		}
	}
}
