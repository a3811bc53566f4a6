package eval_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/eval"
)

// TestDropoutDependsOnTheIndexAlone checks that the mask depends on the row-major index of an element, the seed and the
// salt, and not on how the index is divided into axes.
func TestDropoutDependsOnTheIndexAlone(t *testing.T) {
	mask := func(shape, salt string, seed float64) []float64 {
		source := fmt.Sprintf("hirgen: 1\nname: p\ndtype: fp32\nmesh: {x: 4}\ntensors: {X: %s, seed: {axes: [1], dtype: int64}}\nops:\n- Y = "+
			"dropout(X, seed, p=0.5%s)\n", shape, salt)
		p, err := model.Load("spec.yaml", []byte(source), nil)
		if err != nil {
			t.Fatal(err)
		}
		inputs := eval.Fill(p, 1)
		for i := range inputs["X"].Data {
			inputs["X"].Data[i] = 1
		}
		inputs["seed"].Data[0] = seed
		values, err := eval.Run(p, inputs)
		if err != nil {
			t.Fatal(err)
		}
		return values["Y"].Data
	}
	const large = 1<<40 + 3
	want := mask("[24, 16]", "", large)
	for _, shape := range []string{"[384]", "[DIDx, 6, 16]", "[24, DIDx, 4]", "[2, 3, 4, DIDx, 4]", "[Stream(6), 4, 16]", "[96, DIDx]",
		"[384, 1]"} {
		if !slices.Equal(mask(shape, "", large), want) {
			t.Errorf("%s has another mask than [24, 16]", shape)
		}
	}
	for _, other := range [][]float64{mask("[24, 16]", "", 3), mask("[24, 16]", "", large+1), mask("[24, 16]", ", salt=1", large)} {
		if slices.Equal(other, want) {
			t.Error("another seed, or salt, has the same mask")
		}
	}
}
