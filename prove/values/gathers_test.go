package values_test

import (
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove/unroll"
	"github.com/hirgen/hirgen/prove/values"
)

// TestGathers proves gathers along an axis, in batches and by numbers that the program computes. It then makes each kernel read one
// operand with a wrong stride. Each of these programs must be wrong.
func TestGathers(t *testing.T) {
	const spec = `{hirgen: 1, name: p, mesh: {x: 2}, dtype: fp32,
tensors: {T: [DIDx, 3, 5, 2], I: {axes: [DIDx, 3, 4], dtype: int32}, X: [4, DIDx, 3], L: [2, 5, 3], m: [DIDx, 3, 5]},
ops: ["Y = gather(T, I, axis=2, batches=2)", "M = argmax(m)", "K = shift(M, by=1)", "Z = gather(X, K)", "U = gather(L, K, axis=1)"]}`
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program := lower(t, p)
	proved := func() bool {
		u, err := unroll.Unroll(program, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := values.Check(u, p, 1)
		return err == nil && len(r.Mismatches) == 0
	}
	if !proved() {
		t.Fatal("the program is not proved")
	}
	tried := 0
	for _, s := range program.Body {
		l, ok := s.(*calls.Launch)
		if !ok || !l.Gathers() {
			continue
		}
		for _, in := range l.In {
			for i, stride := range in.Strides {
				if stride == expr.Int(0) {
					continue
				}
				in.Strides[i] = expr.Int(0)
				if tried++; proved() {
					t.Errorf("%s with stride 0 along axis %d of %s is proved", l.Out.At.Base, i, in.At.Base)
				}
				in.Strides[i] = stride
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d wrong programs", tried)
	}
}

// lower returns the calls of a pipeline's program.
func lower(t *testing.T, p *model.Pipeline) *calls.Program {
	t.Helper()
	host, err := lowering.Host(p, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := lowering.Calls(host, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return lowered.Programs()[0]
}
