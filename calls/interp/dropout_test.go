package interp

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	hosttext "github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// dropoutSpecs contain the tensors of specs that apply a dropout: to tensors whose rows, columns or batches are split
// over ranks, to the slices of a pipeline, and to whole tensors.
var dropoutSpecs = map[string]string{
	"whole":          "X: [6, 4, 8]",
	"one row":        "X: [24]",
	"one column":     "X: [24, 1]",
	"rows":           "X: [DIDx, 12/D, 8]",
	"columns":        "X: [12, DIDx, 24/D]",
	"last axis":      "X: [12, 2, DIDx]",
	"grid":           "X: [DIDx, 12/D, DIDy, 12]",
	"batches":        "X: [3, DIDx, 12/D, 2, 8]",
	"slices of rows": "X: [Stream(3), 4, 8]\n  Y: [Stream(3), 4, 8]",
}

func TestDropoutOnRanksAndInSlices(t *testing.T) {
	for name, tensors := range dropoutSpecs {
		for _, d := range []int64{1, 2, 3, 4} {
			for _, dtype := range []string{"fp32", "bf16"} {
				for _, kernels := range []string{"fused", "single"} {
					t.Run(fmt.Sprintf("%s/%d/%s/%s", name, d, dtype, kernels), func(t *testing.T) {
						dropoutKeepsTheResult(t, fmt.Sprintf(`
hirgen: 1
name: drop
params: {D: 2}
mesh: {x: D, y: 2}
dtype: %s
tensors:
  seed: {axes: [1], dtype: int64}
  %s
ops:
  - A = scale(X, by=3)
  - Y = dropout(A, seed, p=0.4)
  - Z = dropout(X, seed, p=0.4)
schedule: {kernels: %s}
`, dtype, tensors, kernels), map[string]int64{"D": d})
					})
				}
			}
		}
	}
}

// pipelinesWithDropout compute a GEMM in steps. They apply a dropout in each step; "scattered" applies it after all
// steps.
var pipelinesWithDropout = map[string]string{
	"gathered":   "A: [DIDx, 24/D, 4]\n  B: [4, 8]\n  C: [Stream(D), 24/D, 8]\n  Y: [Stream(D), 24/D, 8]",
	"collective": "A: [4, DIDx, 24/(4*D), 4]\n  B: [4, 8]\n  C: [Stream(4), D, 24/(4*D), 8]\n  Y: [Stream(4), D, 24/(4*D), 8]",
	"scattered":  "A: [4, DIDx, 24/(4*D), 4]\n  B: [4, 8]\n  C: [Stream(4), D, 24/(4*D), 8]\n  Y: [4, DIDx, 24/(4*D), 8]",
}

func TestDropoutInPipelines(t *testing.T) {
	for name, tensors := range pipelinesWithDropout {
		schedules := []string{"", "preset: eager"}
		if name == "gathered" {
			schedules = []string{
				"pipeline: broadcast", "pipeline: p2p", "pipeline: p2p, all: {steps: ring}", "pipeline: p2p, all: {via: ipc-get, split: 2}",
				"pipeline: p2p, all: {via: ipc-put, split: 2, steps: bracket}", "pipeline: p2p, all: {via: ipc-get, block: D}",
			}
		}
		for _, schedule := range schedules {
			for _, d := range []int64{2, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, schedule, d), func(t *testing.T) {
					dropoutKeepsTheResult(t, fmt.Sprintf(`
hirgen: 1
name: drop
params: {D: 2}
mesh: {x: D}
dtype: fp32
tensors:
  seed: {axes: [1], dtype: int64}
  %s
ops:
  - C = matmul(A, B)
  - Y = dropout(C, seed, p=0.4)
schedule: {%s}
`, tensors, schedule), map[string]int64{"D": d})
				})
			}
		}
	}
}

// dropoutKeepsTheResult compares the results of a spec's host program and of its calls with the results of the
// evaluator.
func dropoutKeepsTheResult(t *testing.T, source string, params map[string]int64) {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(source), params)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	oracle := lowertest.NewOracle(t, p, 3)
	if err := oracle.Check(program, 1); err != nil {
		t.Fatalf("%v\n%s", err, hosttext.Print(program))
	}
	check(t, oracle, program, 2)
}
