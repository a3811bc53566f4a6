package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// TestPythonShapes checks that the shapes of a PyTorch package lack the axes over a mesh axis of one rank, that a tensor
// without axes has none, and that a tensor of some ranks names them.
func TestPythonShapes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spec.yaml")
	spec := "hirgen: 1\nname: p\nmeshes: {all: {axes: {y: 2, x: 1}}, last: {axes: {x: 1}, ranks: [1]}}\n" +
		"tensors: {X: {mesh: all, axes: [DIDy, 4, DIDx, 8]}, one: [1], f: [], Z: [], here: {mesh: last, axes: [3]}}\nops:\n" +
		"  - A = mul(X, f)\n  - B = mul(one, f)\n  - Z = mul(f, f)\n  - C = neg(here)\n"
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
		`Tensor("here", (3,), torch.bfloat16, ranks=(1,)),`, `input here: bfloat16 [3] on ranks 1; None on the others`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the package lacks %s", want)
		}
	}
}
