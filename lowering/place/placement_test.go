package place

import "testing"

// TestSteps checks that steps lead from each placement on three mesh axes to every placement, unless a step would have to make
// the tensor partial.
func TestSteps(t *testing.T) {
	var all []Placements
	kinds := []Placement{Whole, Partial, 0, 1, 2}
	for _, x := range kinds {
		for _, y := range kinds {
			for _, z := range kinds {
				if p := placements(x, y, z); !p.twice() {
					all = append(all, p)
				}
			}
		}
	}
	for _, from := range all {
		for _, to := range all {
			list, possible := steps(from, to)
			at := from
			for _, s := range list {
				if at.of(s.mesh) != s.from || at.with(s.mesh, s.to).twice() {
					t.Errorf("from %q to %q: %v at %q", from, to, list, at)
				}
				at = at.with(s.mesh, s.to)
			}
			wants := true
			for i := range len(to) {
				wants = wants && (to.of(i) != Partial || from.of(i) == Partial)
			}
			if possible != wants || possible && at != to {
				t.Errorf("from %q to %q: %v, possible %v", from, to, list, possible)
			}
		}
	}
}
