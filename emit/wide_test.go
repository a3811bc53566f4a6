package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestWideKernels checks that a kernel counts rows in 64 bits if one of its launches has more rows than a grid has
// blocks. Other kernels do not, because 64-bit divisions take longer.
func TestWideKernels(t *testing.T) {
	for _, c := range []struct {
		tensors string
		op      string
		rows    int64
		wide    bool
	}{
		{"{X: [M, 3], Y: [M, 2]}", "U = slice(X, axis=1, start=1, size=2)\n  - Y = neg(U)", 1<<31 - 1, false},
		{"{X: [M, 3], Y: [M, 2]}", "U = slice(X, axis=1, start=1, size=2)\n  - Y = neg(U)", 1 << 31, true},
		{"{X: [M, 3], Y: [M, 2]}", "U = slice(X, axis=1, start=1, size=2)\n  - Y = neg(U)", 1<<32 + 2, true},
		{"{X: [M, 3], Y: [M, 3]}", "Y = neg(X)", 1<<32 + 2, false}, // a contiguous tensor: the launch counts tiles of elements
		{"{X: [M, 3], Y: [M, 3]}", "Y = neg(X)", 1 << 40, true},
		{"{X: [M, 8], Y: [M, 8]}", "T = sum(X, axis=1)\n  - U = broadcast(T, axis=1)\n  - Y = mul(X, U)", 1<<31 - 1, false},
		{"{X: [M, 8], Y: [M, 8]}", "T = sum(X, axis=1)\n  - U = broadcast(T, axis=1)\n  - Y = mul(X, U)", 1 << 32, true},
		{"{X: [M, 8], Z: [M, 8], Y: [8]}", "E = mul(X, Z)\n  - Y = sum(E, axis=0)", 1 << 32, true},
	} {
		spec := fmt.Sprintf("hirgen: 1\nname: rows\nparams: {M: %d}\ndtype: bf16\ntensors: %s\nops:\n  - %s\n", c.rows, c.tensors, c.op)
		kernels := strings.Join(kernelsOf(t, spec), "\n")
		if !strings.Contains(kernels, "hirgen::launch_") {
			t.Errorf("%s of %d rows is no kernel", c.op, c.rows)
		}
		if got := strings.Contains(kernels, ").wide(),"); got != c.wide {
			t.Errorf("%s of %d rows: wide is %v\n%s", c.op, c.rows, got, kernels)
		}
	}
}

// TestSpelledProducts checks that a constant product that overflows int is printed as its value, because C++
// multiplies int constants as int.
func TestSpelledProducts(t *testing.T) {
	const spec = `hirgen: 1
name: parts
dtype: bf16
tensors: {A: [1073741826, 3], B: [1073741826, 3], C: [2147483652, 3]}
ops: ["C = concat(A, B, axis=0)"]
`
	pipeline, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range render(t, program) {
		if f.Path != "parts.cpp" {
			continue
		}
		if text := string(f.Data); !strings.Contains(text, "C + 3221225478,") || strings.Contains(text, "1073741826 * 3") {
			t.Errorf("%s", text)
		}
	}
}
