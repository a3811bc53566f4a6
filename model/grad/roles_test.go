package grad_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestRoles checks that a backward spec states the tensors of the gradients without the usual name, and no other, that it
// states the outputs that are no gradients, and that hirgen fmt keeps this.
func TestRoles(t *testing.T) {
	for spec, want := range map[string]map[string]string{
		"{X: [4, 8], Q: [4, 8]}; Y = mul(X, Q)":                                      {},
		"{X: [4, 8], dY: [4, 8]}; Y = mul(X, dY)":                                    {"dY_2": "Y"},
		"{X: [4, 8]}; p = softmax(X); dp = softmax(p)":                               {},
		"{X: [4, 8]}; p = softmax(X); dp = softmax(p); outputs dp, p":                {"dp_2": "p"},
		"{Q: [4, 8]}; q = scale(Q, by=0.5); Y = softmax(q)":                          {"dQ_3": "Q"},
		"{X: [DIDx, 4, 8]}; A, B = split(X); Y = concat(B, A)":                       {"dX_2": "X"},
		"{Q: [2, 4, 8], K: [2, 4, 8], V: [2, 4, 8]}; O = attention(Q, K, V); only Q": {"dK": "", "dV": ""},
	} {
		text, only, _ := strings.Cut(spec, "; only ")
		text, outputs, _ := strings.Cut(text, "; outputs ")
		tensors, ops, _ := strings.Cut(text, "; ")
		text = "hirgen: 1\nname: p\nmesh: {x: 2}\ntensors: " + tensors + "\nops:\n  - " + strings.ReplaceAll(ops, "; ", "\n  - ") + "\n"
		if outputs != "" {
			text += "outputs: [" + outputs + "]\n"
		}
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(spec, err)
		}
		pass, err := grad.Backward(p, grad.Options{Of: strings.Fields(only), Axes: axesOf(p)})
		if err != nil {
			t.Fatal(spec, err)
		}
		if diff := cmp.Diff(want, grad.Roles([]byte(pass.Text))); diff != "" {
			t.Errorf("%s: %s\n%s", spec, diff, pass.Text)
		}
		formatted, err := model.Format("spec.yaml", []byte(pass.Text))
		if err != nil {
			t.Fatal(spec, err)
		}
		if diff := cmp.Diff(want, grad.Roles(formatted)); diff != "" {
			t.Errorf("%s, after fmt: %s\n%s", spec, diff, formatted)
		}
	}
}
