package grad_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestGradientOfAttention checks gradients with queries in blocks of rows and of heads, with one operand as keys and
// values, and with and without L.
func TestGradientOfAttention(t *testing.T) {
	const head = "hirgen: 1\nname: p\ndtype: fp32\ntensors: {Q: [3, 2, 4, 2, 3], K: [2, %d, 6, 3], V: [2, %[1]d, 6, 3]}\nops:\n"
	for _, c := range []struct {
		keyHeads int
		ops      string
	}{
		{2, "- O = attention(Q, K, V, causal=true, split=rows)"},
		{2, "- O, L = attention(Q, K, V, causal=true, scale=0.5, split=rows)\n- Y = silu(O)"},
		{4, "- T = mul(V, K)\n- O = attention(Q, K, T, split=rows)\n- Y = sum(O, axis=0)"},
		{2, "- T = mul(V, K)\n- O = attention(Q, T, T, causal=true, window=2, split=rows)"},
		{6, "- O = attention(Q, K, V)"},
		{3, "- T = mul(V, K)\n- O, L = attention(Q, T, T, causal=true, split=heads)\n- Y = silu(O)"},
		{1, "- O = attention(Q, K, V, causal=true, window=2, split=heads)"},
	} {
		ops := c.ops
		p, err := model.Load("spec.yaml", []byte(fmt.Sprintf(head, c.keyHeads)+ops), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range []string{grad.Cheap, grad.All} {
			q, pass := backwardOf(t, p, grad.Options{Recompute: []string{choice}})
			smooth := 0
			for seed := range uint64(4) {
				wrong, ok := direction(t, p, q, pass, seed)
				if ok {
					smooth++
				}
				if ok && wrong > tolerance {
					t.Errorf("the gradient along a direction is wrong by %.2g:\n%s", wrong, pass.Text)
				}
			}
			if smooth == 0 {
				t.Errorf("no direction is smooth:\n%s", ops)
			}
		}
	}
}

// TestLogarithmsHaveNoGradient checks that an output that depends on L is an error at the attention.
func TestLogarithmsHaveNoGradient(t *testing.T) {
	const text = "hirgen: 1\nname: p\ndtype: fp32\ntensors: {Q: [2, 2, 3]}\nops:\n- O, L = attention(Q, Q, Q)\n- Y = exp(L)\n"
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grad.Backward(p, grad.Options{}); err == nil ||
		!strings.Contains(err.Error(), "spec.yaml:6:3: error HG070: attention has no gradient by way of its result L") {
		t.Errorf("got %v", err)
	}
}
