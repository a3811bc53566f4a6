package grad_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// gradientSeeds is how many seeds of random specs are tried, from gradientSeed on.
var (
	gradientSeeds = flag.Uint64("gradient-seeds", 1, "how many seeds of random specs are tried")
	gradientSeed  = flag.Uint64("gradient-seed", 11, "the first one")
)

// TestGradientsOfRandomSpecs compares the gradients of random specs, along random directions, with finite differences in float64.
func TestGradientsOfRandomSpecs(t *testing.T) {
	for seed := range *gradientSeeds {
		gradientsOfRandomSpecs(t, *gradientSeed+seed)
	}
}

func gradientsOfRandomSpecs(t *testing.T, from uint64) {
	t.Helper()
	checked, choices := 0, []string{grad.Cheap, grad.None, grad.All}
	const specs = 600
	for n := range uint64(specs) {
		text := soak.MakeUp(from, n).Text()
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err != nil {
			continue // some random specs are invalid
		}
		o := grad.Options{Recompute: choices[n%3 : n%3+1]}
		if n%4 == 3 {
			o.Of = []string{p.Inputs[n%uint64(len(p.Inputs))].Name}
		}
		if n%2 == 0 {
			o.Axes = axesOf(p)
		}
		pass, err := grad.Backward(p, o)
		if err != nil {
			if errs, ok := diag.Diagnostics(err); !ok || errs.Items[0].Code != diag.NoGradient {
				t.Fatalf("%v\n%s", err, text)
			}
			continue
		}
		q, err := model.Load("backward.yaml", []byte(pass.Text), nil)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, pass.Text)
		}
		within := tolerance
		if strings.Contains(text, "norm") {
			within *= 10 // the 1/n of a mean is rounded to fp32, which shows if the elements of a row are nearly equal
		}
		for seed := range uint64(3) {
			wrong, smooth := direction(t, p, q, pass, seed)
			if !smooth {
				continue
			}
			checked++
			if wrong > within {
				t.Errorf("seed %d, spec %d: the gradient along a direction is wrong by %.2g:\n%s\n%s", from, n, wrong, text, pass.Text)
			}
		}
	}
	if checked < specs/2 {
		t.Errorf("only %d directions of %d specs are smooth", checked, specs)
	}
}
