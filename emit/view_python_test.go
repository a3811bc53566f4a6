package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// TestPythonShapes checks that the shapes of a PyTorch package lack the axes over a mesh axis of one rank, and that a
// tensor without axes has none.
func TestPythonShapes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spec.yaml")
	spec := "hirgen: 1\nname: p\nmesh: {y: 2, x: 1}\ntensors: {X: [DIDy, 4, DIDx, 8], one: [1], f: [], Z: []}\nops:\n" +
		"  - A = mul(X, f)\n  - B = mul(one, f)\n  - Z = mul(f, f)\n"
	if err := os.WriteFile(path, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := renderHost(lowerSpec(t, path), emit.Options{Packages: emit.Packages{Python: true}})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range files {
		if f.Path == filepath.Join("python", "p", "__init__.py") {
			text = string(f.Data)
		}
	}
	for _, want := range []string{
		`Tensor("X", (4, 8), torch.bfloat16, splits=(Split(axis=0, parts=2, stride=1),)),`,
		`Tensor("A", (4, 8), torch.bfloat16, splits=(Split(axis=0, parts=2, stride=1),)),`,
		`Tensor("one", (1,), torch.bfloat16),`, `Tensor("B", (1,), torch.bfloat16),`,
		`Tensor("f", (), torch.bfloat16),`, `Tensor("Z", (), torch.bfloat16),`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the package lacks %s", want)
		}
	}
}
