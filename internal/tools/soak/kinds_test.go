package soak

import "testing"

// TestSpecKindsAreMet checks that of the specs made for a kind, at least half are accepted, and a fifth are
// recognized as that kind.
func TestSpecKindsAreMet(t *testing.T) {
	for _, k := range specKinds {
		accepted, held := 0, 0
		const made = 30
		for number := range uint64(made) {
			spec := makeUp(1, number, func(*generator) specKind { return k })
			outcome := Examine(spec)
			if outcome.Finding != nil {
				t.Errorf("%s: %s %s\n%s", k.name, outcome.Finding.Kind, outcome.Finding.Detail, spec.Text())
			}
			if outcome.Program == nil {
				continue
			}
			accepted++
			if k.holds(outcome.Pipeline, outcome.Program) {
				held++
			}
		}
		t.Logf("%s: %d of %d accepted, %d of them recognized", k.name, accepted, made, held)
		if accepted < made/2 || held < made/5 {
			t.Errorf("%s: of %d specs %d are accepted, and %d of them recognized", k.name, made, accepted, held)
		}
	}
}
