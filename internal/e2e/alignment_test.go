package e2e

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// operands has a GEMM with a bias and an attention, which need aligned operands.
const operands = `hirgen: 1
name: operands
params: {D: 2, T: 16, C: 16}
mesh: {x: D}
dtype: bf16
tensors:
  X: [DIDx, T, C]
  W: [C, C]
  b: [C]
  K: [DIDx, 1, T, C]
  Y: [DIDx, T, C]
  O: [DIDx, 1, T, C]
ops:
  - Y = linear(X, W, b)
  - O = attention(K, K, K)
`

// TestUnalignedOperandsAreNamed moves an operand of an emitted program by an element: the CPU device fails as a GPU
// does, and the error names the statement.
func TestUnalignedOperandsAreNamed(t *testing.T) {
	for _, c := range []struct{ operand, moved, want string }{
		{"Y_plan_, X,", "Y_plan_, X - 1,", "spec.yaml:14:5 linear into Y: cuBLAS: "},
		{"X, W, Y,", "X, W - 1, Y,", "spec.yaml:14:5 linear into Y: cuBLAS: "},
		{"X, W, Y,", "X, W, Y - 1,", "spec.yaml:14:5 linear into Y: cuBLAS: "},
		{"set_bias(b,", "set_bias(b - 1,", "spec.yaml:14:5 linear into Y: cuBLAS: "},
		{".q = K,", ".q = K - 1,", "spec.yaml:15:5 attention into O: an access of 16 bytes at 0x"},
		{".v = K,", ".v = K - 1,", "spec.yaml:15:5 attention into O: an access of 16 bytes at 0x"},
	} {
		t.Run(c.moved, func(t *testing.T) {
			own := folder{"operands"}.beside(t)
			own.emit(t, operands, params{"D": 2})
			program := own.rebuild(t, "operands.cpp", strings.Replace(own.source(t, "operands.cpp"), c.operand, c.moved, 1))
			r := run(t, launch.Options{Program: program, N: 2, Args: brief})
			if r.exit != 4 || !strings.Contains(r.stderr, c.want) || !strings.Contains(r.stderr, "align") {
				t.Errorf("want code 4 and %q: %s", c.want, r)
			}
		})
	}
}
