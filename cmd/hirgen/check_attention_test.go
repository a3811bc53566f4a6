package main

import (
	"strings"
	"testing"
)

const attends = `hirgen: 1
name: attends
mesh: {x: 2}
dtype: %s
tensors:
  Q: [8, 8192, %d]
  K: [8, 8192, %d]
  V: [8, 8192, %d]
ops:
  - O = attention(Q, K, V, causal=true)
`

// spelled returns a spec with an attention of the given element type and head size.
func spelled(dtype, size string) string {
	return strings.NewReplacer("%s", dtype, "%d", size).Replace(attends)
}

// TestCheckOfAttention checks that check reports the implementation of an attention, the reason, and the time of a
// call without cuDNN.
func TestCheckOfAttention(t *testing.T) {
	for _, c := range []struct{ dtype, size, method, reason string }{
		{"bf16", "128", "cudnn", ""},
		{"fp32", "128", "tiled", "fp32"},
		{"bf16", "60", "tiled", "head size"},
	} {
		r := checked(t, spelled(c.dtype, c.size), "-")
		if len(r.Attentions) != 1 {
			t.Fatalf("%s: %d attentions", c.dtype, len(r.Attentions))
		}
		a, tiled := r.Attentions[0], r.Prediction.Tiled
		if !strings.HasPrefix(a.Out, "O") || a.Gradient || a.Method != c.method || c.reason == "" != (a.Reason == "") ||
			!strings.Contains(a.Reason, c.reason) {
			t.Errorf("%s, %s: %+v", c.dtype, c.size, a)
		}
		if byCudnn := c.method == "cudnn"; byCudnn != (tiled != nil) || byCudnn && *tiled < 1.5*r.Prediction.Time {
			t.Errorf("%s, %s: %+v without cuDNN", c.dtype, c.size, *r.Prediction)
		}
		_, text, _ := hirgen(t, spelled(c.dtype, c.size), "check", "-")
		if says := strings.Contains(text, "1 by cuDNN; where it is missing"); says != (c.method == "cudnn") {
			t.Errorf("%s, %s:\n%s", c.dtype, c.size, text)
		}
	}
}
