package grad_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/grad"
)

// TestTypesOfGradients checks which operands of the GEMMs of a backward pass are quantized to the type of gradients: the
// first operand of the gradient of X, and the operand of the gradient of W that comes from the gradient of the result.
func TestTypesOfGradients(t *testing.T) {
	const e4m3, mixed, turned = "quantize=fp8_e4m3", "quantize=[fp8_e5m2, fp8_e4m3]", "quantize=[fp8_e4m3, fp8_e5m2]"
	attr := regexp.MustCompile(`quantize=(\[[^]]*\]|\w+)`)
	for _, c := range []struct {
		op        string
		gradients domain.DType
		want      []string // of the gradient of X, and of the gradient of W
	}{
		{"linear(X, W, quantize=fp8_e4m3)", "", []string{e4m3, e4m3}},
		{"linear(X, W, quantize=fp8_e4m3)", domain.FP8E4M3, []string{e4m3, e4m3}},
		{"linear(X, W, quantize=fp8_e4m3)", domain.FP8E5M2, []string{mixed, mixed}},
		{"matmul(X, W, quantize=fp8_e4m3)", domain.FP8E5M2, []string{mixed, turned}},
		{"matmul(X, W, quantize=[fp8_e5m2, fp8_e4m3])", domain.FP8E4M3, []string{e4m3, mixed}},
		{"linear(X, W, quantize=[fp8_e4m3, fp8_e5m2])", "", []string{turned, e4m3}},
		{"linear(X, W, quantize=[fp8_e5m2, fp8_e4m3])", "", []string{mixed, turned}},
		{"linear(X, W, quantize=[fp8_e4m3, fp8_e5m2])", domain.FP8E5M2, []string{turned, mixed}},
	} {
		p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: p\ndtype: bf16\ntensors: {X: [16, 32], W: [32, 32]}\nops:\n- Y = "+c.op), nil)
		if err != nil {
			t.Fatal(err)
		}
		pass, err := grad.Backward(p, grad.Options{Gradients: c.gradients})
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(pass.Text, "ops:")
		var got []string
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			got = append(got, attr.FindAllString(line, -1)...)
		}
		if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
			t.Errorf("%s, gradients %q: %v, want %v\n%s", c.op, c.gradients, got, c.want, pass.Text)
		}
		if _, err := model.Load("spec.yaml", []byte(pass.Text), nil); err != nil {
			t.Errorf("%s, gradients %q: %v\n%s", c.op, c.gradients, err, pass.Text)
		}
	}
}
