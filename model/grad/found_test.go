package grad_test

import (
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/eval"
	"github.com/hirgen/hirgen/model/grad"
)

// TestGradientsThatWereWrong checks gradients of small specs, each a reduced random spec that showed a mistake.
func TestGradientsThatWereWrong(t *testing.T) {
	for name, text := range map[string]string{
		"a batch of one element that the other operand has all of": `
tensors:
  X: [DIDx, 2, 1, 1, 3]
  W: [2, 2, 3]
  Y: [DIDx, 2, 2, 1, 2]
ops:
  - Y = linear(X, W)
`,
		"elements that are always equal": `
tensors:
  Q: [2, 3, 4]
  K: [2, 1, 4]
  Y: [2, 4]
ops:
  - O = attention(Q, K, K)
  - Y = min(O, axis=1)
`,
		"parts of what is declared to be split": `
tensors:
  X: [DIDz, 4, 4]
  T: [4, DIDx, 4]
  Y: [4, 2, 4]
ops:
  - S = slice(X, axis=1, start=1, stop=3)
  - T = shift(S, by=-1)
  - Y = gelu(T)
`,
		"largest elements, of which only the numbers are read": `
tensors: {X: [2, 6], Z: {axes: [6], dtype: bf16}}
ops:
  - V, I = top_k(X, k=3)
  - Y = mul(V, I)
  - A, J = top_k(Z, k=1)
  - U = shift(J, by=1)
  - T = mul(A, A)
  - C = cumsum(Z, reverse=true, exclusive=true)
outputs: [Y, U, T, C]
`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: found\nmesh: {x: 2, z: 4}\ndtype: fp32\n"+text), nil)
			if err != nil {
				t.Fatal(err)
			}
			q, pass := backwardOf(t, p, grad.Options{Axes: axesOf(p)})
			smooth := 0
			for seed := range uint64(8) {
				wrong, ok := direction(t, p, q, pass, seed)
				if !ok {
					continue
				}
				if smooth++; wrong > tolerance {
					t.Fatalf("the gradient along a direction is wrong by %.2g:\n%s", wrong, pass.Text)
				}
			}
			if smooth == 0 {
				t.Error("no direction is smooth")
			}
		})
	}
}

// TestKinksAreNotSmooth checks that one-sided differences show a kink. Symmetric differences are the same for any step.
func TestKinksAreNotSmooth(t *testing.T) {
	kink := func(x float64) float64 { return 3*x + max(0, x) }
	if left, right := oneSided(kink, -1e-3), oneSided(kink, 1e-3); left > 3.001 || right < 3.999 {
		t.Errorf("the slopes of both sides are %g and %g, want 3 and 4", left, right)
	}
}

// TestMasksAreNotRounded checks that the gradient of a where reads the mask in its own type, in which it is not 0.
func TestMasksAreNotRounded(t *testing.T) {
	p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: found\ndtype: fp16\ntensors: {M: {axes: [2], dtype: fp32}, A: [2], B: [2]}\n"+
		"ops:\n- Y = where(M, A, B)\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := backwardOf(t, p, grad.Options{})
	list := func(v ...float64) *eval.Array { return &eval.Array{Shape: []int64{2}, Data: v} }
	got, err := eval.Run(q, map[string]*eval.Array{"M": list(1e-9, 0), "dY": list(3, 5)})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got["dA"].Data, got["dB"].Data; a[0] != 3 || a[1] != 0 || b[0] != 0 || b[1] != 5 {
		t.Errorf("dA is %v, and dB %v", a, b)
	}
}
