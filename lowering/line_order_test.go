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

// largeSizes matches the comment of a spec with the sizes for its prediction: "# large: M 4096, N 8192".
var largeSizes = regexp.MustCompile(`(?m)^# large: (.*)$`)

// operands matches each name on the right of an operation: operands, functions and parameters.
var operands = regexp.MustCompile(`\b[A-Za-z]\w*\b`)

// otherOrder returns a spec with its operations in a random order, in which each operation follows the operations whose
// results it reads.
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

// TestOrderOfLines checks that the predicted time of a program does not depend on the order of its operations: in 24
// legal orders with collectives only, in 12 orders as point-to-point pipelines, and in 6 orders with schedule: auto.
// Exposed communication may take at most 10 % of the time, and 15 % in the pipelines.
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

// inOrders compares the predicted times of a spec with one schedule field in a number of orders of its operations. The
// first order is that of the file. exposed is the largest allowed ratio of exposed communication to the total time.
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
