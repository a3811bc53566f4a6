package effects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/text"
)

const program = `calls p from "spec.yaml"
Param(name D, spec "D", value 2)
Param(name K, spec "K", value 12)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Shape(name kOne, plan one_, m 4, n 8, k K, transpose_a, addend, type bf16, label kOne)
Shape(name kMany, plan many_, m 4, n 6, k 8, batch D, stride_a 32, stride_c 24, row_b 20, align_a 2, bias, type bf16, type_c fp32, label kMany)
Attention(name kBack, plan back_, layout kLayout, gradients kGradients, fn "attention(0.5)", batch 1, query_heads 4, key_heads 2, query_rows 3, key_rows 5, size 8, q [96, 8, 32], k [80, 8, 16], v [80, 8, 16], o [96, 8, 32], grad_q [96, 8, 32], grad_k [80, 8, 16], grad_v [80, 8, 16], grad_o [96, 8, 32], type bf16, label kBack)
Kernel(name norm, columns 16, results 2, operands [y, r, x, w], types [bf16, fp32, bf16, bf16], uses [element, row, element, column], body "r = sum(x), y = mul(x, w)", where "2:5 norm")
Kernel(name drop, columns 4, views, axes 1, results 1, operands [y, x, seed], types [bf16, bf16, int64], uses [element, element, seed], body "y = add(x, x)", where "3:5 drop")

Memcpy(out P, in A + 4, elements 3 * K, type fp32, on caller)
Gemm(shape kOne, out C, a A, b B, addend C, on caller)
Gemm(shape kMany, out C, a A, b B, bias V, on caller)
Attend(attention kBack, q Q, k K_, v V, o O, logs L, grad_o dO, grad_q dQ, grad_k dK, grad_v dV, scratch R, on caller)
Launch(kernel binary, fn "add", out C, a A, b B, out_type bf16, in_type bf16, elements K, on caller)
Launch(kernel reduce, fn "sum", out C, out_extents [1, 4], out_strides [0, 1], a A, a_extents [D, 4], a_strides [4, 1], out_type bf16, in_type fp32, on caller)
Launch(kernel norm, out Y, a R, b X, c W, elements 3, on caller)
Launch(kernel drop, out Y, out_extents [D], out_strides [4, 1], a X, a_strides [8, 1], b S, b_strides [0, 1], on caller)
Delay(microseconds 3, on caller)
`

// TestOf compares the operands of all statements of the program: number, pointer, extents, strides, element type and
// alignment in bytes.
func TestOf(t *testing.T) {
	p, err := text.Parse("spec.yaml", program)
	if err != nil {
		t.Fatal(err)
	}
	table, list := effects.New(p), []string{}
	for _, s := range p.Body {
		operands, err := table.Of(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range operands {
			line := fmt.Sprint(calls.Op(s), " ", o.Number, " ", o.At, " ", o.Extents, " by ", o.Strides, " ", o.Type, " ", o.Align)
			switch {
			case o.Rest:
				line += " written to the end"
			case o.Write:
				line += " written"
			case o.Alike:
				line += " may be overwritten"
			}
			list = append(list, line)
		}
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), list); diff != "" {
		t.Errorf("other operands (-want +got)\n%s", diff)
	}
}

// TestOperandsFitTheirShape gives a GEMM operands that its shape does not allow.
func TestOperandsFitTheirShape(t *testing.T) {
	const shape, gemm = "Shape(name kOne, plan one_, m 4, n 8, k 16, row_scales, type fp8_e4m3, type_c bf16, label kOne)",
		"Gemm(shape kOne, out C, a A, b B, scales_a S, scales_b T, on caller)"
	for _, c := range []struct {
		old, new string
		right    bool
	}{
		{"", "", true}, {"scales_b T, ", "", false}, {"scales_a S, scales_b T, ", "", false}, {"row_scales, ", "", false},
		{"row_scales", "scales, row_scales", false}, {"type_c bf16", "type_c fp16", false}, {"type fp8_e4m3", "type bf16", false},
		{"k 16,", "k 16, batch 2,", false}, {"row_scales,", "row_scales, bias,", false}, {"scales_a S", "bias V, scales_a S", false},
		{"n 8, k 16, row_scales", "n 128, k 256, scales", true}, {"n 8, k 16, row_scales", "n 8, k 256, scales", false},
		{"n 8, k 16, row_scales", "n 128, k 16, scales", false},
	} {
		p, err := text.Parse("spec.yaml", strings.Replace(`calls p from "spec.yaml"
Mesh(name mesh_world, label "world", axes "x of 2", extents [2])
`+shape+"\n\n"+gemm+"\n", c.old, c.new, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := effects.New(p).Of(p.Body[0]); (err == nil) != c.right {
			t.Errorf("%q in place of %q: %v", c.new, c.old, err)
		}
	}
}

const want = `
Memcpy 0 P [3 * K] by [1] fp32 4 written
Memcpy 1 A + 4 [3 * K] by [1] fp32 4
Gemm 0 C [1 4 8] by [0 8 1] bf16 16 written
Gemm 1 A [1 4 K] by [0 1 4] bf16 8
Gemm 2 B [1 K 8] by [0 8 1] bf16 16
Gemm 3 C [1 4 8] by [0 8 1] bf16 16 may be overwritten
Gemm 0 C [D 4 6] by [24 6 1] fp32 8 written
Gemm 1 A [D 4 8] by [32 8 1] bf16 2
Gemm 2 B [D 8 6] by [0 20 1] bf16 4
Gemm 4 V [6] by [1] fp32 16
Attend 0 Q [1 4 3 8] by [96 8 32 1] bf16 16
Attend 1 K_ [1 2 5 8] by [80 8 16 1] bf16 16
Attend 2 V [1 2 5 8] by [80 8 16 1] bf16 16
Attend 3 O [1 4 3 8] by [96 8 32 1] bf16 16
Attend 4 L [1 4 3] by [4 * 3 3 1] fp32 16
Attend 5 dO [1 4 3 8] by [96 8 32 1] bf16 16
Attend 6 dQ [1 4 3 8] by [96 8 32 1] bf16 16 written
Attend 7 dK [1 2 5 8] by [80 8 16 1] bf16 16 written
Attend 8 dV [1 2 5 8] by [80 8 16 1] bf16 16 written
Attend 9 R [] by [] fp32 256 written to the end
Launch 0 C [K] by [1] bf16 2 written
Launch 1 A [K] by [1] bf16 2 may be overwritten
Launch 2 B [K] by [1] bf16 2 may be overwritten
Launch 0 C [1 4] by [0 1] bf16 2 written
Launch 1 A [D 4] by [4 1] fp32 4
Launch 0 Y [3 16] by [16 1] bf16 2 written
Launch 1 R [3 1] by [1 0] fp32 4 written
Launch 2 X [3 16] by [16 1] bf16 2
Launch 3 W [3 16] by [0 1] bf16 2
Launch 0 Y [D 4] by [4 1] bf16 2 written
Launch 1 X [D 4] by [8 1] bf16 2
Launch 2 S [D 4] by [0 0] int64 8
`
