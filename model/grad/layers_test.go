package grad_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// small has small values for the parameters of the example specs. Specs in testdata/layers use only its value of D.
var small = map[string]int64{
	"D": 2, "S": 2, "M": 16, "N": 12, "K": 8, "B": 2, "L": 4, "H": 4, "G": 2, "C": 4, "E": 16, "F": 12,
}

// loadSmall loads an example spec with the values of small. Parameters with an expression keep it.
func loadSmall(t *testing.T, path string) *model.Pipeline {
	t.Helper()
	p, text, err := model.LoadFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, param := range p.Params {
		if value, ok := small[param.Name]; ok && param.Text == "" && (param.Name == "D" || !strings.Contains(path, "layers")) {
			values[param.Name] = value
		}
	}
	if p, err = model.Load(filepath.Base(path), text, values); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGradientsOfTheExamples compares gradients of the examples along random directions with finite differences in
// float64, for each value of the option Recompute.
func TestGradientsOfTheExamples(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/specs/*/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	layers, err := filepath.Glob("../../testdata/layers/*.yaml")
	if err != nil || len(specs) < 20 || len(layers) < 5 {
		t.Fatal(err, len(specs), len(layers))
	}
	for _, path := range append(specs, layers...) {
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "_grad(") || strings.Contains(string(text), "quantize") ||
			strings.Contains(string(text), "scaled_linear(") {
			continue // no gradients: see TestNoGradient
		}
		if strings.HasPrefix(filepath.Base(path), "attention") {
			continue // these specs contain attention_grad
		}
		for _, choice := range []string{grad.Cheap, grad.None, grad.All} {
			t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)+"/"+choice, func(t *testing.T) {
				p := loadSmall(t, path)
				q, pass := backwardOf(t, p, grad.Options{Recompute: []string{choice}, Axes: axesOf(p)})
				smooth := 0
				for seed := range uint64(4) {
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
}
