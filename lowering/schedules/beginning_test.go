package schedules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// unrolled returns a spec with the given number of layers and without a schedule.
func unrolled(layers int) string {
	var tensors, ops strings.Builder
	for i := range layers {
		fmt.Fprintf(&tensors, "  V%d: [DIDx, F/D, K]\n  W%d: [DIDx, K, F/D]\n", i, i)
		fmt.Fprintf(&ops, "  - Z%d = linear(X%d, V%d)\n  - A%d = gelu(Z%d)\n  - P%d = linear(A%d, W%d)\n  - X%d = sum(P%d, axis=0)\n", i, i, i, i,
			i, i, i, i, i+1, i)
	}
	return "hirgen: 1\nname: deep\nparams: {D: 2, M: 4096, K: 4096, F: 16384}\nmesh: {x: D}\ndtype: bf16\ntensors:\n  X0: [M, K]\n" +
		tensors.String() + "ops:\n" + ops.String()
}

// TestAutoOfManyLayers checks that auto chooses point-to-point pipelines for one layer and for a large program, and
// that the predicted time of 80 layers is about 80 times the time of one layer. The times differ because only the last
// layer has exposed time at the end of the call.
func TestAutoOfManyLayers(t *testing.T) {
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	us := map[int]float64{}
	for _, layers := range []int{1, 80} {
		p, err := model.Load("spec.yaml", []byte(unrolled(layers)), nil)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Host(p, lowering.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if program.Choices.Get(schedule.Pipeline) != schedule.P2P {
			t.Errorf("%d layers: %s", layers, program.Auto.Basis)
		}
		lowered, err := lowering.Calls(program, lowering.Options{})
		if err != nil {
			t.Fatal(err)
		}
		prediction, err := cost.Predict(lowered.Programs(), m)
		if err != nil {
			t.Fatal(err)
		}
		us[layers] = prediction.Total
	}
	if ratio := us[80] / us[1] / 80; ratio < 0.9 || ratio > 1.03 {
		t.Errorf("80 layers take %.3f times as long as 80 calls of one", ratio)
	}
}
