package unroll

import (
	"math/rand/v2"
	"testing"
)

// bytesOf returns the set of bytes of a layout whose first element is at byte from.
func bytesOf(l *Layout, from int64) map[int64]bool {
	set := map[int64]bool{}
	var visit func(axis int, at int64)
	visit = func(axis int, at int64) {
		if axis == len(l.Extents) {
			for b := range l.Size {
				set[at+b] = true
			}
			return
		}
		for i := range l.Extents[axis] {
			visit(axis+1, at+i*l.Strides[axis]*l.Size)
		}
	}
	visit(0, from)
	return set
}

func randomLayout(rng *rand.Rand) *Layout {
	extents, strides := make([]int64, 1+rng.IntN(3)), []int64{}
	for i := range extents {
		extents[i] = 1 + rng.Int64N(4)
		strides = append(strides, []int64{0, 1, 2, 3, 4, 6, 12, 16}[rng.IntN(8)])
	}
	return newLayout(1+rng.Int64N(2), extents, strides)
}

func TestOverlapIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a, b, behind := randomLayout(rng), randomLayout(rng), rng.Int64N(80)-40
		mine, theirs := bytesOf(a, 0), bytesOf(b, behind)
		want := false
		for at := range mine {
			want = want || theirs[at]
		}
		at, got := Overlap(a, b, behind)
		if got != want || got && (!mine[at] || !theirs[at]) {
			t.Fatalf("%v and %v, %d behind: overlap at %d is %v, want %v", a, b, behind, at, got, want)
		}
	}
}
