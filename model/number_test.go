package model

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestNumbersFollowParameters checks that a number can be an expression of parameters.
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

// TestRanksFollowParameters checks that a mesh can list ranges of ranks, whose ends are expressions of parameters.
func TestRanksFollowParameters(t *testing.T) {
	const text = "hirgen: 1\nname: p\nparams: {D: 2}\n" +
		"meshes: {a: {axes: {x: D+1}, ranks: [D..2*D-1, 0]}, b: {axes: {x: D}, ranks: [0..D-1]}}\n" +
		"tensors: {A: {axes: [DIDx, 6], mesh: a}, B: {axes: [DIDx, 6], mesh: b}}\nops: [X = relu(A), Y = relu(B)]\n"
	for d, want := range map[int64]string{2: "[[2 3 0] [0 1]]", 3: "[[3 4 5 0] [0 1 2]]"} {
		p, err := Load("spec.yaml", []byte(text), map[string]int64{"D": d})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint([][]int{p.Meshes[1].Ranks, p.Meshes[2].Ranks}); got != want {
			t.Errorf("D=%d: %s, and not %s", d, got, want)
		}
	}
}
