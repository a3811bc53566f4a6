package grad_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestMeshesKeepTheirExpressions checks that the backward pass of a spec with several meshes is written with the expressions of the
// spec: written for two ranks a mesh and loaded with three, it has the meshes of the forward pass for three.
func TestMeshesKeepTheirExpressions(t *testing.T) {
	const spec = `
hirgen: 1
name: stages
params: {D: 2}
meshes:
  front: {axes: {x: D}}
  left:  {axes: {x: D}, ranks: [D..2*D-1]}
  right: {axes: {x: D}, ranks: [3*D - 1, 2*D .. 3*D-2]}
tensors:
  A: {axes: [DIDx, 4], mesh: front}
  B: {axes: [DIDx, 4], mesh: left}
  C: {axes: [DIDx, 4], mesh: right}
ops:
  - B = relu(A)
  - C = neg(B)
`
	load := func(text string, d int64) *model.Pipeline {
		p, err := model.Load("spec.yaml", []byte(text), map[string]int64{"D": d})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	forward := load(spec, 2)
	pass, err := grad.Backward(forward, grad.Options{Axes: axesOf(forward)})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(pass.Text, "\nmesh:") {
		t.Errorf("the world is the union of the meshes, and yet the backward pass declares it:\n%s", pass.Text)
	}
	want, got := load(spec, 3).Meshes, load(pass.Text, 3).Meshes
	for i, m := range want {
		if !m.Same(got[i]) || m.Name != got[i].Name {
			t.Errorf("mesh %s has the ranks %v in the backward pass, and %v in the forward pass", m.Name, got[i].Ranks, m.Ranks)
		}
	}
}

// TestBackwardPassesOfAnySize checks that parameters change only the line of the parameters in a backward pass, so that -p of the
// backward pass does what -p of the forward pass does.
func TestBackwardPassesOfAnySize(t *testing.T) {
	params := regexp.MustCompile(`params: .*`)
	for path, values := range backwardPasses {
		var written [2]string
		for i := range written {
			all := map[string]int64{"D": int64(2 << i)}
			maps.Copy(all, values)
			p, _, err := model.LoadFile("../../testdata/"+path, all)
			if err != nil {
				t.Fatal(err)
			}
			pass, err := grad.Backward(p, grad.Options{})
			if err != nil {
				t.Fatal(err)
			}
			written[i] = params.ReplaceAllString(pass.Text, "")
		}
		if written[0] != written[1] {
			t.Errorf("the backward pass of %s for 4 ranks is not the one for 2 ranks:\n%s\nand\n%s", path, written[1], written[0])
		}
	}
}
