package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// TestNamesOfPartsAreFree checks that the expansion of a composite avoids all names of the spec, also names that are
// defined later.
func TestNamesOfPartsAreFree(t *testing.T) {
	p := mustLoad(t, spec("Y_max: [2, 3]", "- Y = softmax(Y_max)\n- Y_sum = neg(Y)\n- Y_sum_b = softmax(Y_sum)"))
	var names []string
	for _, tensor := range p.Tensors {
		names = append(names, tensor.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) || !slices.Contains(names, "Y_max2") || !slices.Contains(names, "Y_sum2") {
		t.Errorf("the names are %v", names)
	}
}

func TestMistakesInComposites(t *testing.T) {
	for op, want := range map[string]string{
		"softmax(X, axis=2)":               "axis 2 is not between -2 and 1",
		"softmax(X, axis=[0])":             "axis is one axis, not a list",
		"softmax(X, eps=1)":                `softmax has no attribute "eps"`,
		"where(X, X, G)":                   "where(X, X, G) pairs axis 0 of G, 4, with axis 1 of X, 3: their extents differ",
		"rms_norm(X, axis=0)":              `rms_norm has no attribute "axis"`,
		"softmax(X, causal=yes)":           "causal is true or false",
		"softmax(X, axis=0, causal=true)":  "a causal softmax runs along the last axis of [..., queries, keys]",
		"rope(X)":                          "rope rotates pairs of elements of the last axis of X, which has 3",
		"rope(G)":                          "rope takes positions along an axis before the last one, and G has one axis",
		"rope(X, G)":                       "rope rotates pairs of elements of the last axis of X, which has 3",
		"rope(X, G, G, base=10)":           "rope of tables has no axis and no base",
		"rope(G, base=0.5)":                "rope takes positions along an axis before the last one",
		"positions(X, axis=2)":             "axis 2 is not between -2 and 1",
		"softmax(X, X)":                    "softmax takes 1 operand, not 2",
		"normalize(X, eps=-1)":             "eps is -1; it is at least 0",
		"normalize(X, eps=tiny)":           `there is no parameter "tiny"`,
		"normalize(X, eps=1e-50)":          "1e-50 is 0 when it is rounded to fp32",
		"normalize(X, eps=inf)":            `there is no parameter "inf"`,
		"scale(X, by=1/D**2)":              `"1/D**2" is no decimal number`,
		"scale(X, by=D//2)":                `"D//2" is no decimal number`,
		"scale(X, by=root(D))":             `"root(D)" is no decimal number`,
		"scale(X, by=1/(D-D))":             "1/(D-D) is not finite",
		"layer_norm(X, G, X)":              "layer_norm(X, G, X) pairs axis 1 of Y_y, 3, with axis 0 of G, 4: their extents differ",
		"softmax(Z)":                       `there is no tensor "Z"`,
		"scale(X)":                         "scale needs one constant",
		"scale(X, by=[1])":                 "scale needs one constant",
		"shift(X, by=1e60)":                "1e60 is no number that fp32 holds",
		"normalize(X, axis=0, axis=0)":     `attribute "axis" is given twice`,
		"normalize_grad(X, X, eps=[1, 2])": "eps is one number, not a list",
	} {
		_, err := Load("spec.yaml", []byte(spec("X: [2, 3], G: [4]", "- Y = "+op+"\n- U = neg(Y)\n- W = neg(G)\n- V = neg(X)")), nil)
		var list *diag.Errors
		if !errors.As(err, &list) || len(list.Items) != 1 || !strings.Contains(list.Items[0].Message, want) {
			t.Errorf("%s: got %v, want one error: %s", op, err, want)
		}
	}
}

// TestGEMMsShareQuantizedOperands checks that GEMMs quantize a tensor once if they quantize it alike, and once for each
// layout and type if they do not.
func TestGEMMsShareQuantizedOperands(t *testing.T) {
	for _, c := range []struct {
		ops        string
		quantized  []string
		transposed int
	}{
		{"- Y = linear(X, V, quantize=fp8_e4m3)\n- Z = linear(X, W, quantize=fp8_e4m3)", []string{"X", "V", "W"}, 0},
		{"- Y = linear(X, V, quantize=fp8_e4m3)\n- Z = linear(X, V, quantize=[fp8_e5m2, fp8_e4m3])", []string{"X", "V", "X"}, 0},
		{"- Y = linear(X, V, quantize=fp8_e4m3)\n- Z = matmul(X, X, quantize=fp8_e4m3)", []string{"X", "V", "X_columns"}, 1},
		{"- Y = matmul(X, X, quantize=fp8_e4m3)\n- Z = matmul(V, X, quantize=fp8_e4m3)", []string{"X", "X_columns", "V"}, 1},
	} {
		p := mustLoad(t, spec("X: [4, 4], V: [4, 4], W: [2, 4]", c.ops+"\n- U = neg(W)"))
		var quantized []string
		transposed := 0
		for _, op := range p.Ops {
			if name := op.Out.Name; strings.HasSuffix(name, "_quantized") {
				quantized = append(quantized, strings.TrimSuffix(name, "_quantized"))
			} else if strings.Contains(name, "_quantized") && op.Kind == OpCast {
				quantized = append(quantized, strings.Split(name, "_quantized")[0])
			}
			if op.Kind == OpPermute {
				transposed++
			}
		}
		if !slices.Equal(quantized, c.quantized) || transposed != c.transposed {
			t.Errorf("%s: quantizes %v and transposes %d", c.ops, quantized, transposed)
		}
	}
}

// TestQuantizedOperandsOfAnyName checks that operands may have names of any length, also names that end in an underscore
// if they are shortened.
func TestQuantizedOperandsOfAnyName(t *testing.T) {
	for length := 1; length <= 63; length++ {
		name := strings.Repeat("W_", 32)[:length]
		if strings.HasSuffix(name, "_") {
			name = name[:length-1] + "V"
		}
		for _, fn := range []string{"linear", "matmul"} {
			const head = "hirgen: 1\nname: p\ntensors: {X: [32, 32], "
			text := head + name + ": [32, 32]}\nops:\n- Y = " + fn + "(X, " + name + ", quantize=fp8_e4m3)\n"
			if _, err := Load("spec.yaml", []byte(text), nil); err != nil {
				t.Fatalf("%s of %s: %v", fn, name, err)
			}
		}
	}
}

// TestSpellingOfComposites checks that the operations of a composite name it as the spec does, with all values of a list.
func TestSpellingOfComposites(t *testing.T) {
	const want = "linear(X, V, quantize=[fp8_e5m2, fp8_e4m3])"
	p := mustLoad(t, "hirgen: 1\nname: p\nmesh: {x: 1}\ndtype: bf16\ntensors: {X: [16, 32], V: [16, 32]}\nops: [\"Y = "+want+"\"]\n")
	if got := p.Ops[len(p.Ops)-1].Whole; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMistakesOfSharedOperands checks that each GEMM reports a mistake in its attribute quantize.
func TestMistakesOfSharedOperands(t *testing.T) {
	_, err := Load("spec.yaml", []byte(spec("X: [4, 4], V: [4, 4]",
		"- Y = linear(X, V, quantize=fp8)\n- Z = linear(X, V, quantize=fp8)")), nil)
	var list *diag.Errors
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	for _, d := range list.Items {
		lines[d.Pos.Line] = true
	}
	if len(lines) != 2 {
		t.Errorf("the mistakes are in lines %v", lines)
	}
}
