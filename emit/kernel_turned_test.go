package emit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/emit"
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

// TestOnlyDivisionsTurn checks that only kernels that divide the transposed operand by a number of its row transpose it in
// tiles: math_turned tests no other body.
func TestOnlyDivisionsTurn(t *testing.T) {
	for body, want := range map[string]int{"Q = div(X, S)": 1, "Q = div(S, X)": 0, "Q = mul(X, S)": 0, "Q = exp(X)": 0} {
		p, err := calltext.Parse("c.calls", `calls c from "c.yaml"
Kernel(name quantize, columns 6, row M, views, axes 1, results 1, operands [Q, X, S], types [fp8_e4m3, fp32, fp32], `+
			`uses [element, element, row], body "`+body+`", where "c.yaml:1:1 quantize")

Launch(kernel quantize, out Q, out_extents [4, 6], out_strides [6, 1], a X, a_extents [4, 6], a_strides [1, 4], `+
			`b S, b_extents [4, 6], b_strides [1, 0], elements 4, on caller)
`)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := p.Body[0].(*calls.Launch)
		if got := emit.TurnedBy(p.Kernels[0], []*calls.Launch{l}); got != want {
			t.Errorf("%s: operand %d is transposed, want %d", body, got, want)
		}
	}
}
