package shard

import (
	"slices"
	"testing"
)

// TestQueue checks that a queue returns the smallest number first, and a number that is added twice only once, unless
// it is removed in between.
func TestQueue(t *testing.T) {
	q := newQueue()
	for _, n := range []int{5, -1, 3, 5, 3} {
		q.add(n)
	}
	var got []int
	for !q.empty() {
		n := q.next()
		got = append(got, n)
		if n == 3 && len(got) < 3 {
			q.add(4)
			q.add(3)
		}
	}
	if want := []int{-1, 3, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
