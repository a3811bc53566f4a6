package spell

import "testing"

func TestNearest(t *testing.T) {
	fields := []string{"params", "mesh", "tensors", "schedule", "A", "B"}
	for _, c := range []struct{ word, want string }{
		{"tensor", "tensors"}, {"shcedule", "schedule"}, {"Params", "params"}, {"mseh", "mesh"},
		{"a", "A"}, {"C", ""}, {"colour", ""}, {"", ""}, {"AB", "A"},
	} {
		got, ok := Nearest(c.word, fields)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", c.word, got, ok, c.want)
		}
	}
}
