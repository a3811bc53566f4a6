package grad_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// scheduled is a spec with a schedule that is not valid for any communication of its backward pass.
const scheduled = `hirgen: 1
name: scheduled
params: {D: 2, M: 8, K: 8, N: 8}
mesh: {x: D}
tensors:
  A: [DIDx, M, K]
  W: [DIDx, N, K]
  Y: [M, N]
ops:
  - P = linear(A, W)
  - Y = sum(P, axis=0)
schedule: {pipeline: p2p, all: {via: ipc-get}}
`

// TestScheduleStaysForward checks that the backward pass, which has other communications, gets no schedule or only
// pipeline: collective, and can be lowered. The forward pass with saved tensors keeps the schedule.
func TestScheduleStaysForward(t *testing.T) {
	first, err := model.Load("spec.yaml", []byte(scheduled), nil)
	if err != nil {
		t.Fatal(err)
	}
	pipelines := []*model.Pipeline{first}
	specs, err := filepath.Glob("../../testdata/specs/*/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range specs {
		pipelines = append(pipelines, loadSmall(t, path))
	}
	for _, p := range pipelines {
		pass, err := grad.Backward(p, grad.Options{Axes: axesOf(p)})
		if err != nil {
			continue // the example has no gradients: see TestGradientsOfTheExamples
		}
		_, own, has := strings.Cut(pass.Text, "\nschedule:")
		if has && own != " {pipeline: collective}\n" || strings.Contains(pass.Forward, "\nschedule:") != (len(p.Schedule.Stated()) > 0) {
			t.Errorf("the schedule of %s is that of the forward pass:\n%s\n%s", p.Name, pass.Text, pass.Forward)
		}
		q, err := model.Load("backward.yaml", []byte(pass.Text), nil)
		if err == nil {
			_, err = lowering.Host(q, lowering.Options{})
		}
		if err != nil {
			t.Errorf("%v\n%s", err, pass.Text)
		}
	}
}
