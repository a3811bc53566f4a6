package soak

import (
	"path/filepath"
	"testing"
)

func examples(t testing.TB) []Example {
	t.Helper()
	root := filepath.Join("..", "..")
	list, err := Examples(filepath.Join(root, "testdata/specs/*/spec.yaml"), filepath.Join(root, "testdata/grids/*.yaml"),
		filepath.Join(root, "internal/e2e/testdata/moves/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMakeIsRepeatable: a seed and a number make one spec.
func TestMakeIsRepeatable(t *testing.T) {
	o := Options{Seed: 3, Examples: examples(t)}
	for number := range uint64(300) {
		first := o.Make(number)
		if again := o.Make(number); first.Text() != again.Text() {
			t.Fatalf("number %d is\n%s\nand then\n%s", number, first.Text(), again.Text())
		}
		if copied := first.Clone(); copied.Text() != first.Text() {
			t.Fatalf("a copy differs:\n%s", copied.Text())
		}
	}
}
