package emit_test

import (
	"slices"
	"strings"
	"testing"
)

// TestTurned checks that a kernel that quantizes the columns of a matrix transposes it in tiles, whatever its element type, and
// that kernels of batches, of blocks and of rows do not.
func TestTurned(t *testing.T) {
	const head = "hirgen: 1\nname: columns\nparams: {M: 48, N: 24, B: 16}\nmesh: {x: 1}\ndtype: "
	for _, c := range []struct{ name, rest, want string }{
		{"bf16", "bf16\ntensors: {X: [M, N]}\nops:\n  - T = permute(X, perm=[1, 0])\n  - Q, S = quantize(T, dtype=fp8_e4m3)\n",
			"hirgen::launch_turned<Quantize::kColumns>(Quantize{Q, S, T, Q_largest2_b}, Q, T, rows, stream, where);"},
		{"fp32", "fp32\ntensors: {X: [M, N]}\nops:\n  - T = permute(X, perm=[1, 0])\n  - Q, S = quantize(T, dtype=fp8_e5m2)\n",
			"hirgen::launch_turned<Quantize::kColumns>(Quantize{Q, S, T, Q_largest2_b}, Q, T, rows, stream, where);"},
		{"batches", "bf16\ntensors: {X: [2, M, N]}\nops:\n  - T = permute(X, perm=[0, 2, 1])\n  - Q, S = quantize(T, dtype=fp8_e4m3)\n",
			"hirgen::launch_rows<"},
		{"blocks", "bf16\ntensors: {X: [M, N]}\nops:\n  - T = permute(X, perm=[1, 0])\n  - Q, S = quantize(T, dtype=fp8_e4m3, block=B)\n",
			"hirgen::launch_rows<"},
		{"rows", "bf16\ntensors: {X: [M, N]}\nops:\n  - Q, S = quantize(X, dtype=fp8_e4m3)\n", "hirgen::launch_rows<"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := kernelsOf(t, head+c.rest+"outputs: [Q, S]\n")
			turns := strings.Contains(c.want, "launch_turned")
			if text := strings.Join(lines, " "); !strings.Contains(text, c.want) || strings.Contains(text, "launch_turned") != turns ||
				slices.Contains(lines, `#include "hirgen/turned.hpp"`) != turns {
				t.Errorf("no %s in\n%s", c.want, strings.Join(lines, "\n"))
			}
		})
	}
}
