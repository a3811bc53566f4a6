package pipeline

import (
	"fmt"
	"github.com/hirgen/hirgen/lowering/hostir"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHistory compares the edges between random accesses of one buffer with the overlaps of these
// accesses. Of two accesses of an element, one of them a write, the later one must follow the earlier
// one through edges. No edge may connect other accesses.
func TestHistory(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		accesses := make([]access, 12)
		h := &history{}
		var pairs []pair
		for i := range accesses {
			low := random.Int64N(20)
			accesses[i] = access{run{low, low + 1 + random.Int64N(8)}, random.IntN(2) == 0}
			pairs = h.access(accesses[i].run, i, accesses[i].writes, func(int) bool { return false }, pairs)
		}
		reached := closure(len(accesses), pairs)
		for to, a := range accesses {
			for from, b := range accesses[:to] {
				if conflict := a.conflicts(b); conflict && !reached[from][to] {
					t.Fatalf("seed %d: %v does not follow %v\n%v", seed, a, b, accesses)
				}
			}
		}
		for _, p := range pairs {
			if p.from >= p.to || !accesses[p.to].conflicts(accesses[p.from]) {
				t.Fatalf("seed %d: %v and %v do not conflict", seed, accesses[p.from], accesses[p.to])
			}
		}
	}
}

type access struct {
	run
	writes bool
}

func (a access) conflicts(b access) bool {
	return a.low < b.high && b.low < a.high && (a.writes || b.writes)
}

// closure returns, for each instance, which instances are reachable from it.
func closure(n int, pairs []pair) [][]bool {
	reached := make([][]bool, n)
	for i := range reached {
		reached[i] = make([]bool, n)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return a.to - b.to })
	for _, p := range pairs {
		reached[p.from][p.to] = true
		for from := range n {
			reached[from][p.to] = reached[from][p.to] || reached[from][p.from]
		}
	}
	return reached
}

// TestRuns compares the runs of windows with the elements of the windows, one by one.
func TestRuns(t *testing.T) {
	for _, w := range []hostir.Window{
		{Size: []int64{2, 3, 4}, Stride: []int64{12, 4, 1}, Offset: 5},
		{Size: []int64{2, 3, 2}, Stride: []int64{12, 4, 1}},
		{Size: []int64{3, 2}, Stride: []int64{1, 3}, Offset: 2},
		{Size: []int64{1, 3, 1}, Stride: []int64{99, 7, 5}},
		{Size: []int64{2, 2, 2}, Stride: []int64{2, 100, 1}},
	} {
		want := map[int64]bool{}
		index := make([]int64, len(w.Size))
		for {
			at := w.Offset
			for i, n := range index {
				at += n * w.Stride[i]
			}
			want[at] = true
			axis := len(index) - 1
			for ; axis >= 0; axis-- {
				if index[axis]++; index[axis] < w.Size[axis] {
					break
				}
				index[axis] = 0
			}
			if axis < 0 {
				break
			}
		}
		got := map[int64]bool{}
		for _, r := range runs(w) {
			for at := r.low; at < r.high; at++ {
				if got[at] {
					t.Errorf("%v: element %d is in two runs", w, at)
				}
				got[at] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %v, not %v", w, got, want)
		}
	}
	many := hostir.Window{Size: []int64{mostRuns + 1, 2}, Stride: []int64{5, 1}, Offset: 3}
	if list := runs(many); len(list) != 1 || list[0] != (run{3, 3 + 5*mostRuns + 2}) {
		t.Errorf("a window in many pieces is %v", list)
	}
}
