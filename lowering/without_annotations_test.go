package lowering

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// withoutPlacements returns a spec without the declarations of tensors that are neither inputs nor outputs.
func withoutPlacements(t *testing.T, spec string) string {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(spec, "\nops:")
	for _, tensor := range program.Tensors {
		if tensor.Role != hostir.Input && tensor.Role != hostir.Output {
			head = regexp.MustCompile(`(?m)^  `+tensor.Name+`:.*\n`).ReplaceAllString(head, "")
		}
	}
	return head + "\nops:" + body
}

// TestWithoutAnnotations removes the declared tensors between inputs and outputs from the blocks of the benchmark. With
// schedule: auto, the resulting programs may be predicted to take at most 3.5 % longer.
func TestWithoutAnnotations(t *testing.T) {
	t.Parallel()
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	schedule := regexp.MustCompile(`(?m)^schedule:.*$`)
	files, err := filepath.Glob(filepath.Join("..", "scripts", "bench_gpu", "specs", "block*", "spec.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d specs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spec := schedule.ReplaceAllString(string(text), "schedule: auto")
		var times []float64
		for _, s := range []string{spec, withoutPlacements(t, spec)} {
			p, err := model.Load("spec.yaml", []byte(s), nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			lowered, err := Lower(p, Options{Machine: machine})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			predicted, err := cost.Predict([]*calls.Program{lowered.Program}, machine)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, predicted.Total)
		}
		if times[1] > 1.035*times[0] {
			t.Errorf("%s: predicted %.0f us, %.0f without declared placements", file, times[0], times[1])
		}
	}
}
