package model

import (
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestNumbersFollowParameters: a number can be an expression, whose value changes with the parameters.
func TestNumbersFollowParameters(t *testing.T) {
	for by, want := range map[string]string{
		"1/D": "0.25", "-D": "-4", "1/sqrt(D)": "0.5", "0.5*(D - 1)": "1.5", "1/D/S": "0.125", "1 / (D*S)": "0.125", "2e3+D": "2004",
	} {
		p, err := Load("spec.yaml", []byte(spec("X: [2, 3]", "- Y = scale(X, by="+by+")")), map[string]int64{"D": 4})
		if err != nil {
			t.Errorf("%s: %v", by, err)
			continue
		}
		if _, got := domain.SplitFn(p.Ops[0].Fn); got != want {
			t.Errorf("%s is %s, and not %s", by, got, want)
		}
	}
}
