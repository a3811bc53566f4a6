package emit_test

import (
	"slices"
	"strings"
	"testing"
)

// TestColumns checks kernels that reduce over rows: the body returns the contribution of a row, and the launch is given
// the result and the reduction. Operands that are parts of rows have a stride from row to row.
func TestColumns(t *testing.T) {
	const layer = `hirgen: 1
name: layer
params: {D: 2, M: 12, N: 8}
mesh: {x: D}
dtype: bf16
tensors:
  Y: [DIDx, N]
`
	for _, c := range []struct {
		name, rest string
		want       []string
	}{
		{"dense", "  X: [DIDx, M, N]\n  w: [N]\nops:\n  - P = mul(X, w)\n  - Q = relu(P)\n  - Y = sum(Q, axis=1)\n", []string{
			"HG_HOST_DEVICE auto operator()(const Row& row) const {",
			"const auto P = row.load(X) * row.along(w);",
			"return fn::relu(P);",
			"hirgen::launch_columns<hirgen::ReduceFn::kSum>(Y, MulReluSum{X, w}, MulReluSum::kColumns, {rows}, hirgen::accesses(X, w), stream, " +
				"where);",
		}},
		{"parts of rows", "  Z: [DIDx, M, 2*N]\nops:\n  - a, b = split(Z, sizes=[N, N], axis=2)\n  - P = mul(a, b)\n  - Y = max(P, axis=1)\n",
			[]string{
				"hirgen::Scattered<const bf16, 1> a;",
				"hirgen::launch_columns<hirgen::ReduceFn::kMax, 1>(Y, MulMax{a, b}, MulMax::kColumns, rows, hirgen::accesses(a, b), stream,",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := kernelsOf(t, layer+c.rest)
			for _, want := range c.want {
				if !slices.Contains(lines, want) && !strings.Contains(strings.Join(lines, " "), want) {
					t.Errorf("no line\n%s\nin\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}
