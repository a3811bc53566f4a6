package tasks

import (
	"slices"
	"testing"
)

// TestOrders checks that 50 seeds find all four orders that the dependencies allow, and no other.
func TestOrders(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		var set Set
		var order []rune
		one, other := &Stream{}, &Stream{}
		work := func(name rune) func() error {
			return func() error { order = append(order, name); return nil }
		}
		set.Issue(0, "a", one, work('a'))
		b := set.Issue(0, "b", one, work('b'))
		set.Issue(0, "c", other, work('c'), b)
		set.Issue(0, "d", &Stream{}, work('d'))
		if all, err := set.Run(seed); !all || err != nil {
			t.Fatal(all, err)
		}
		if slices.Index(order, 'a') > slices.Index(order, 'b') || slices.Index(order, 'b') > slices.Index(order, 'c') {
			t.Fatalf("seed %d: %s", seed, string(order))
		}
		seen[string(order)] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d orders, and d can stand in 4 places: %v", len(seen), seen)
	}
}

// TestStuck checks that a blocked task keeps the later tasks of its stream from running.
func TestStuck(t *testing.T) {
	var set Set
	s := &Stream{}
	set.Issue(0, nil, s, nil).Block()
	last := set.Issue(0, "last", s, func() error { t.Error("it ran"); return nil })
	if all, err := set.Run(1); all || err != nil {
		t.Error(all, err)
	}
	if set.Stuck(0) != last || set.Stuck(1) != nil {
		t.Error("another task is stuck")
	}
}
