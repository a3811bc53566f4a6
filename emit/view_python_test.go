package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// TestPythonShapes checks that the shapes of a PyTorch package lack the axes over a mesh axis of one rank, that a tensor
// without axes has an empty shape, and that a tensor on some of the ranks names these ranks.
func TestPythonShapes(t *testing.T) {
	text := pythonPackage(t, "meshes: {all: {axes: {y: 2, x: 1}}, last: {axes: {x: 1}, ranks: [1]}}\n"+
		"tensors: {X: {mesh: all, axes: [DIDy, 4, DIDx, 8]}, one: [1], f: [], Z: [], here: {mesh: last, axes: [3]}}\nops:\n"+
		"  - A = mul(X, f)\n  - B = mul(one, f)\n  - Z = mul(f, f)\n  - C = neg(here)\n")
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

// TestPythonSplits checks that a split gives each rank of a mesh its coordinate, in whatever order the mesh has its ranks.
// If no split can do that, the tensor has no splits and is not a weight.
func TestPythonSplits(t *testing.T) {
	const x, y = "splits=(Split(axis=0, parts=2, stride=1),)", "splits=(Split(axis=0, parts=2, stride=2),)"
	for _, c := range []struct{ ranks, splits string }{
		{"[DIDx, 4, 6] 0 1 2 3", y + ", weight=True"},
		{"[DIDy, 4, 6] 0 1 2 3", x + ", weight=True"},
		{"[DIDx, 4, 6] 0 2 1 3", x + ", weight=True"},
		{"[DIDy, 4, 6] 0 2 1 3", y + ", weight=True"},
		{"[DIDx, 4, 6] 0 1 3 2", y + ", weight=True"},
		{"[DIDy, 4, 6] 0 1 3 2", ""},
		{"[DIDx, 4, 6] 1 0 3 2", y + ", weight=True"},
		{"[DIDx, 4, 6] 3 2 1 0", ""},
	} {
		axes, ranks, _ := strings.Cut(c.ranks, "] ")
		text := pythonPackage(t, "mesh: {x: 2, y: 2}\nmeshes:\n  other: {axes: {x: 2, y: 2}, ranks: ["+
			strings.ReplaceAll(ranks, " ", ", ")+"]}\ntensors:\n  X: {axes: [5, 6], mesh: other}\n  W: {axes: "+axes+
			"], mesh: other}\nops:\n  - Y = linear(X, W)\n")
		want := `Tensor("W", (4, 6), torch.bfloat16),`
		if c.splits != "" {
			want = `Tensor("W", (4, 6), torch.bfloat16, ` + c.splits + "),"
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: the package lacks %s:\n%s", c.ranks, want, text)
		}
	}
}

// pythonPackage returns the module of the PyTorch package of a spec.
func pythonPackage(t *testing.T, spec string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spec.yaml")
	if err := os.WriteFile(path, []byte("hirgen: 1\nname: p\n"+spec), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := renderHost(lowerSpec(t, path), emit.Options{Packages: emit.Packages{Python: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == filepath.Join("python", "p", "__init__.py") {
			return string(f.Data)
		}
	}
	return ""
}
