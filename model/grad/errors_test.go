package grad_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestNoGradient checks the errors of gradients that do not exist, with their positions.
func TestNoGradient(t *testing.T) {
	const head = "hirgen: 1\nname: p\ndtype: fp32\ntensors: {X: [4, 6], c: [4, 3], s: [4, 3], M: [4, 6]}\nops:\n"
	for _, c := range []struct{ ops, of, recompute, want string }{
		{ops: "- Y = gelu_grad(X)", want: "spec.yaml:6:3: error HG070: gelu_grad has no gradient by X"},
		{ops: "- T = rms_norm(X)\n- Y = softmax_grad(T, T)", want: "spec.yaml:7:3: error HG070: softmax_grad has no gradient by T"},
		{ops: "- Q, S = quantize(X, dtype=fp8_e5m2)", want: "spec.yaml:6:3: error HG070: quantize has no gradient by X"},
		{ops: "- Q = cast(X, dtype=fp8_e4m3)\n- P = linear(Q, Q)\n- Y = add(X, X)",
			want: "spec.yaml:7:3: error HG070: linear has no gradient by Q"},
		{ops: "- Y = rope(X, c, s)", of: "c", want: "spec.yaml:6:3: error HG070: rope has no gradient by c"},
		{ops: "- Y = keep(X, M)", of: "M", want: "spec.yaml:4:44: error HG070: no output changes with M by small steps, so it has no gradient"},
		{ops: "- Y = positions(X, axis=1)", want: "spec.yaml: error HG070: no output changes with an input by small steps"},
		{ops: "- Y = relu(X)", of: "Y", want: `spec.yaml: error HG070: there is no input "Y" to give the gradient of`},
		{ops: "- Y = relu(X)", recompute: "Z", want: `spec.yaml: error HG070: there is no result "Z" to compute anew`},
	} {
		text := head + c.ops
		for _, name := range []string{"X", "c", "s", "M"} { // so that every input is read
			text += "\n- T" + name + " = ge(" + name + ", " + name + ")"
		}
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = grad.Backward(p, grad.Options{Of: words(c.of), Recompute: words(c.recompute)})
		errs, ok := diag.Diagnostics(err)
		if !ok || len(errs.Items) != 1 || !strings.Contains(errs.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.ops, err, c.want)
		}
	}
}

func words(list string) []string { return strings.Fields(list) }

// TestWhatIsAskedFor checks which gradients a backward pass has. Masks and rope tables have none by default.
func TestWhatIsAskedFor(t *testing.T) {
	const text = "hirgen: 1\nname: p\ndtype: fp32\ntensors: {X: [4, 6], W: [6, 6], c: [4, 3], s: [4, 3], M: [4, 6]}\n" +
		"ops:\n- Z = linear(X, W)\n- R = rope(Z, c, s)\n- Y = where(M, R, X)\n"
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]string{"": "dX dW", "W": "dW", "X": "dX"} {
		pass, err := grad.Backward(p, grad.Options{Of: words(of)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range pass.Gradients {
			got = append(got, g.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("gradients of %q: %v, want %s", of, got, want)
		}
		if of == "X" && strings.Contains(pass.Text, "  X:") {
			t.Errorf("the gradient by X needs no X:\n%s", pass.Text)
		}
	}
}

// TestGradientsOfBlocks checks that blocks which divide the forward GEMM, but not the gradient of its weights, are an error.
func TestGradientsOfBlocks(t *testing.T) {
	const text = "hirgen: 1\nname: p\ntensors: {X: [4, 128], W: [256, 128]}\nops:\n- Y = linear(X, W, quantize=fp8_e4m3, block=128)"
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "spec.yaml:5:3: error HG070: the gradient of W is a GEMM along 4 elements, which blocks of 128 do not divide"
	_, err = grad.Backward(p, grad.Options{})
	if errs, ok := diag.Diagnostics(err); !ok || len(errs.Items) != 1 || !strings.Contains(errs.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := grad.Backward(p, grad.Options{Of: []string{"X"}}); err != nil {
		t.Errorf("the gradient of X: %v", err)
	}
}
