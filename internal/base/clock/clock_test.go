package clock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/base/clock"
)

// TestClocks checks all methods on clocks of different lengths.
func TestClocks(t *testing.T) {
	a, b := clock.Clock[int]{1, 4}, clock.Clock[int]{2, 0, 3}
	for _, c := range []struct{ got, want clock.Clock[int] }{
		{a.Merged(b), clock.Clock[int]{2, 4, 3}},
		{b.Merged(a), clock.Clock[int]{2, 4, 3}},
		{a.Common(b), clock.Clock[int]{1, 0}},
		{clock.Clock[int](nil).At(2, 5), clock.Clock[int]{0, 0, 5}},
		{a, clock.Clock[int]{1, 4}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
	both := a.Merged(b)
	if !both.Covers(a) || !both.Covers(b) || a.Covers(b) || b.Covers(a) || !a.Covers(clock.Clock[int]{1, 2, 0, 0}) {
		t.Errorf("%v, %v and %v cover each other wrongly", a, b, both)
	}
	if a.Of(1) != 4 || a.Of(9) != 0 {
		t.Errorf("of %v, %d and %d have ended", a, a.Of(1), a.Of(9))
	}
}
