package lowering

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// largeSizes matches the comment with the sizes for the prediction of a spec: "# large: M 4096, N 8192".
var largeSizes = regexp.MustCompile(`(?m)^# large: (.*)$`)

// operands matches each name in an operation: operands, functions and parameters.
var operands = regexp.MustCompile(`\b[A-Za-z]\w*\b`)

// otherOrder returns a spec with its operations in a random order in which each follows the operations whose results it reads.
func otherOrder(spec string, random *rand.Rand) string {
	head, body, _ := strings.Cut(spec, "ops:\n")
	left := strings.Split(strings.TrimSpace(body), "\n")
	var out []string
	for len(left) > 0 {
		i := random.IntN(len(left))
		_, reads, _ := strings.Cut(left[i], "=")
		if names := operands.FindAllString(reads, -1); !slices.ContainsFunc(left, func(line string) bool {
			made, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "-")), " ")
			return slices.Contains(names, made)
		}) {
			out = append(out, "  "+strings.TrimSpace(left[i]))
			left = slices.Delete(left, i, i+1)
		}
	}
	return head + "ops:\n" + strings.Join(out, "\n") + "\n"
}

// TestOrderOfLines checks that the predicted time of a program is the same in legal orders of its operations: in 24 with collectives
// alone, in 12 as pipelines between ranks, and in 6 with schedule: auto. In the first and the last at most a tenth of it is exposed
// communication.
func TestOrderOfLines(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "orders", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inOrders(t, file, string(text), 24, 0.1, schedule.Choice{Field: schedule.Preset, Value: schedule.None})
		inOrders(t, file, string(text), 12, 0.15, schedule.Choice{Field: schedule.Pipeline, Value: schedule.P2P})
		inOrders(t, file, string(text), 6, 0.1, schedule.Choice{Field: schedule.Preset, Value: schedule.Auto})
	}
}

// inOrders compares the predicted time of a spec with a choice in some orders of its operations, the first as they are written.
// exposed is the largest part of the time that communication may be exposed for.
func inOrders(t *testing.T, file, text string, orders int, exposed float64, by schedule.Choice) {
	t.Helper()
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	random, first := rand.New(rand.NewPCG(1, 2)), 0.0
	for n := range orders {
		spec := text
		if n > 0 {
			spec = otherOrder(spec, random)
		}
		p, err := model.Load(file, []byte(spec), sizesOf(t, largeSizes, spec, map[string]int64{}))
		if err != nil {
			t.Fatal(err)
		}
		p.Schedule = schedule.Schedule{Choices: []schedule.Choice{by}}
		lowered, err := Lower(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		predicted, err := cost.Predict([]*calls.Program{lowered.Program}, machine)
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = predicted.Total
		}
		if math.Abs(predicted.Total-first) > 1e-6*first || predicted.Exposed > exposed*first {
			t.Errorf("%s: %v us, and %v exposed; as it is written %v us:\n%s", by, predicted.Total, predicted.Exposed, first, spec)
		}
	}
}
