package grad_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestGradientOfOneSequence compares the gradient of a layer with a batch of one sequence with the gradient for several sequences.
func TestGradientOfOneSequence(t *testing.T) {
	const spec = `
hirgen: 1
name: mlp
params: {D: 2, B: 1, L: 8, E: 16, F: 32}
mesh: {x: D}
tensors:
  X:  [B, L, E]
  g:  [E]
  Wu: [DIDx, 1, F/D, E]
  bu: [DIDx, 1, F/D]
  Wd: [DIDx, 1, E, F/D]
  Y:  [B, L, E]
ops:
  - U = rms_norm(X, g)
  - Z = linear(U, Wu, bu)
  - A = silu(Z)
  - P = linear(A, Wd)
  - S = sum(P, axis=0)
  - Y = add(X, S)
`
	var texts []string
	for b := range int64(2) {
		p, err := model.Load("spec.yaml", []byte(spec), map[string]int64{"B": b + 1})
		if err != nil {
			t.Fatal(err)
		}
		pass, err := grad.Backward(p, grad.Options{})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Replace(pass.Text, "B: 1", "B: 2", 1))
	}
	if texts[0] != texts[1] {
		t.Errorf("for one sequence:\n%s\nfor two:\n%s", texts[0], texts[1])
	}
}

// TestGradientsHoldForOtherParameters writes gradients of random specs while one parameter is 1, and loads them with the parameter's value
// in the spec. It leaves out specs with a parameter of 1, for which an axis of one element may stretch to a parameter.
func TestGradientsHoldForOtherParameters(t *testing.T) {
	tried := 0
	for n := range uint64(300) {
		text := soak.MakeUp(*gradientSeed, n).Text()
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err != nil || slices.ContainsFunc(p.Params, func(v model.Param) bool { return v.Value == 1 }) {
			continue
		}
		for _, v := range p.Params {
			one, err := model.Load("spec.yaml", []byte(text), map[string]int64{v.Name: 1})
			if err != nil {
				continue
			}
			pass, err := grad.Backward(one, grad.Options{})
			if err != nil {
				continue
			}
			tried++
			if _, err := model.Load("backward.yaml", []byte(pass.Text), map[string]int64{v.Name: v.Value}); err != nil {
				t.Errorf("spec %d, written with %s=1: %v\n%s\n%s", n, v.Name, err, text, pass.Text)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d gradients were loaded", tried)
	}
}
