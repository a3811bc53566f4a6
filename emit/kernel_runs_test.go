package emit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// kernelsOf returns the lines of a program's kernels, without indentation.
func kernelsOf(t *testing.T, spec string) []string {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range render(t, program) {
		if strings.HasSuffix(f.Path, "_kernels.cu") {
			var lines []string
			for line := range strings.Lines(string(f.Data)) {
				lines = append(lines, strings.TrimSpace(line))
			}
			return lines
		}
	}
	t.Fatal("no kernels")
	return nil
}

// TestRunsOfRows checks that the angles that the heads of a token share are computed before the rows of a run, wherever
// the axis of the heads is. A kernel with a softmax has no runs, because it sums each row.
func TestRunsOfRows(t *testing.T) {
	const layer = `hirgen: 1
name: layer
params: {D: 2, B: 2, L: 6, H: 4, C: 8}
mesh: {x: D}
dtype: fp32
tensors:
  X: [DIDx, B, L, H, C]
  Y: [DIDx, B, L, H, C]
ops:
`
	for _, c := range []struct{ name, ops, launch string }{
		{"heads behind tokens", "  - Y = rope(X, axis=2, base=10000)\n", "hirgen::launch_rows<Rope::kColumns, 3, 2>("},
		{"heads before tokens", "  - P = permute(X, perm=[0, 1, 3, 2, 4])\n  - R = rope(P, axis=3, base=10000)\n  - Y = permute(R, perm=[0, 1, " +
			"3, 2, 4])\n", "hirgen::launch_rows<Rope::kColumns, 3, 1>("},
		{"softmax of angles", "  - R = rope(X, axis=2, base=10000)\n  - Y = softmax(R, axis=4)\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := kernelsOf(t, layer+c.ops)
			angles := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "fn::cos(") })
			rows := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "run.each(") })
			if c.launch == "" {
				if folds := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "fn::sum(row,") }); folds < 0 {
					t.Fatalf("no sum along rows in\n%s", strings.Join(lines, "\n"))
				}
				return
			}
			if angles < 0 || rows < angles || !strings.Contains(lines[angles], "run.keep(") {
				t.Errorf("line %d has cosines, line %d the rows of a run, in\n%s", angles, rows, strings.Join(lines, "\n"))
			}
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.launch) }) {
				t.Errorf("no %s in\n%s", c.launch, strings.Join(lines, "\n"))
			}
		})
	}
}

// TestLongRowsAreLaunchedInParts checks that several blocks compute each long row of a kernel without a reduction, even
// if an operand has one element, and that one block computes each row of a kernel with a reduction.
func TestLongRowsAreLaunchedInParts(t *testing.T) {
	const head = "hirgen: 1\nname: across\nparams: {N: 40000}\nmesh: {x: 1}\ntensors: {X: [2, N], f: []}\nops:\n"
	for ops, launch := range map[string]string{
		"  - a = mul(X, f)\n  - Y = exp(a)\n":     "launch_parts<",
		"  - a = mul(X, f)\n  - Y = softmax(a)\n": "launch_rows<",
	} {
		if text := strings.Join(kernelsOf(t, head+ops), "\n"); strings.Count(text, "hirgen::launch_") != 1 || !strings.Contains(text, launch) {
			t.Errorf("no %s alone in\n%s", launch, text)
		}
	}
}
