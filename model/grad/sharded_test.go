package grad_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// onRanks lowers a pipeline and interprets it on all ranks, in two orders. It returns false if lowering refuses the
// pipeline.
func onRanks(t *testing.T, p *model.Pipeline, text string) bool {
	t.Helper()
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		if errs, ok := diag.Diagnostics(err); !ok || errs.Items[0].Code == diag.HostIRInvalid {
			t.Fatalf("%v\n%s", err, text)
		}
		return false
	}
	oracle, err := lowertest.OracleOf(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		if err := oracle.Check(program, seed); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	return true
}

// TestBackwardPassesOnRanks interprets the backward passes of layers on 2, 3 and 4 ranks.
func TestBackwardPassesOnRanks(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/layers/*_backward.yaml")
	if err != nil || len(specs) < len(backwardPasses) {
		t.Fatal(err, specs)
	}
	for _, path := range specs {
		for d := int64(2); d <= 4; d++ {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wide := strings.Replace(string(text), "dtype: bf16\n", "dtype: fp32\n", 1)
			p, err := model.Load(path, []byte(wide), map[string]int64{"D": d})
			if err != nil {
				t.Fatal(err)
			}
			if !onRanks(t, p, path) {
				t.Errorf("%s is refused", path)
			}
		}
	}
}

// TestRandomBackwardPassesOnRanks interprets backward passes of random specs.
func TestRandomBackwardPassesOnRanks(t *testing.T) {
	ran := 0
	const specs = 150
	for n := range uint64(specs) {
		text := soak.MakeUp(5, n).Text()
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err != nil {
			continue
		}
		pass, err := grad.Backward(p, grad.Options{Axes: axesOf(p)})
		if err != nil {
			continue
		}
		q, err := model.Load("backward.yaml", []byte(pass.Text), nil)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, pass.Text)
		}
		// Gradients with div or sqrt are left out: their operands may be 0 or negative.
		if !strings.Contains(pass.Text, "div(") && !strings.Contains(pass.Text, "sqrt(") && onRanks(t, q, pass.Text) {
			ran++
		}
	}
	if ran < specs/3 {
		t.Errorf("only %d of %d specs ran", ran, specs)
	}
}
