package grad_test

import (
	"maps"
	"os"
	"regexp"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// stages is a spec whose meshes depend on a parameter.
const stages = `
hirgen: 1
name: stages
params: {D: 2}
meshes:
  front: {axes: {x: D}}
  back:  {axes: {x: D}, ranks: [2*D - 1, D .. 2*D-2]}
tensors:
  A: {axes: [DIDx, 4], mesh: front}
  B: {axes: [DIDx, 4], mesh: back}
ops:
  - B = relu(A)
`

// TestBackwardPassesOfAnySize checks that parameters change only their own line in a backward pass, so that -p of the backward pass
// does what -p of the forward pass does.
func TestBackwardPassesOfAnySize(t *testing.T) {
	specs := map[string]map[string]int64{stages: nil}
	for path, values := range backwardPasses {
		text, err := os.ReadFile("../../testdata/" + path)
		if err != nil {
			t.Fatal(err)
		}
		specs[string(text)] = values
	}
	params := regexp.MustCompile(`params: .*`)
	for spec, values := range specs {
		written := map[int64]string{}
		for _, d := range []int64{2, 4} {
			all := map[string]int64{"D": d}
			maps.Copy(all, values)
			p, err := model.Load("spec.yaml", []byte(spec), all)
			if err != nil {
				t.Fatal(err)
			}
			pass, err := grad.Backward(p, grad.Options{})
			if err != nil {
				t.Fatal(err)
			}
			written[d] = params.ReplaceAllString(pass.Text, "")
		}
		if written[2] != written[4] {
			t.Errorf("the backward pass for 4 ranks is not the one for 2 ranks:\n%s\nand\n%s", written[4], written[2])
		}
	}
}
