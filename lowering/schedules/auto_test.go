package schedules_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// autoSpec returns the spec of an example, with chosen as its schedule.
func autoSpec(t *testing.T, name, chosen string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^schedule:.*\n`).ReplaceAllString(string(source), "") + "schedule: " + chosen + "\n"
}

// TestAutoWithoutPipelines checks that auto predicts a program with a GEMM and a separate sum, and does not confuse it
// with the measured operation, in which both are in one pipeline.
func TestAutoWithoutPipelines(t *testing.T) {
	const spec = `hirgen: 1
name: apart
params: {D: 1, M: 2, N: 2, K: 2}
mesh: {x: D}
tensors: {A: [M, K], B: [N, K], R: [DIDx, M, N], P: [DIDx, Stream(M), N], S: [DIDx, N]}
ops:
  - C = linear(A, B)
  - P = neg(R)
  - S = sum(P, axis=0)
schedule: auto
`
	program := lowerAt(t, spec, schedules.Problem{Ranks: 1, M: 1, N: 1, K: 1})
	if !strings.HasPrefix(program.Auto.Basis, "predicted ") {
		t.Error(program.Auto.Basis)
	}
}

// TestMeasuredSchedules lowers each line of the table at its own size. schedule: auto has to give the same program as
// the line's schedule written in the spec.
func TestMeasuredSchedules(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range schedules.Lines() {
		seen[m.Operation] = seen[m.Operation] || !strings.Contains(m.Schedule, "split") && !strings.Contains(m.Schedule, "block")
		t.Run(m.Text, func(t *testing.T) {
			var program, all []string
			for _, c := range m.Choices {
				if c.Of == "" {
					program = append(program, c.String())
				} else {
					all = append(all, strings.TrimPrefix(c.String(), "all."))
				}
			}
			if strings.Contains(m.Schedule, "pipeline p2p") {
				program = append(program, "transport: auto")
			}
			if len(all) > 0 {
				program = append(program, "all: {"+strings.Join(all, ", ")+"}")
			}
			auto := lowerAt(t, autoSpec(t, m.Operation+"_p2p", "auto"), m.Problem)
			want := lowerAt(t, autoSpec(t, m.Operation+"_p2p", "{"+strings.Join(program, ", ")+"}"), m.Problem)
			if auto.Auto == nil || !strings.HasPrefix(auto.Auto.Basis, m.Text+": measured ") {
				t.Errorf("the program says %v of what it was chosen by", auto.Auto)
			}
			auto.Auto = nil
			if diff := cmp.Diff(withoutChoices(text.Print(want)), withoutChoices(text.Print(auto))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, operation := range schedules.Operations() {
		if !seen[operation] {
			t.Errorf("no line of %s fits every size", operation)
		}
	}
}

// TestAutoAtOddSizes lowers the measured operations at sizes without a measurement.
func TestAutoAtOddSizes(t *testing.T) {
	for _, operation := range schedules.Operations() {
		for _, ranks := range []int64{1, 2, 3, 7, 8} {
			p := schedules.Problem{Operation: operation, Ranks: ranks, M: 5 * ranks, N: 9, K: 11}
			program := lowerAt(t, autoSpec(t, operation+"_p2p", "auto"), p)
			want := operation
			if ranks == 1 {
				want = "predicted " // nothing is communicated, so this is none of the measured operations
			}
			if !strings.HasPrefix(program.Auto.Basis, want) {
				t.Errorf("%v: %s", p, program.Auto.Basis)
			}
		}
	}
}

func lowerAt(t *testing.T, spec string, p schedules.Problem) *hostir.Program {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), p.Params())
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestAutoPredictsItsProgram checks that the time that auto states is the time of the program that it chooses. If a
// later pass finds better placements, auto has not tried its candidates with them. The sizes are the case that showed
// this, and random ones.
func TestAutoPredictsItsProgram(t *testing.T) {
	m, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	sizes := [][3]int64{{384, 3584, 4096}}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		sizes = append(sizes, [3]int64{16 << random.IntN(8), 128 * (1 + random.Int64N(32)), 128 * (1 + random.Int64N(32))})
	}
	for _, name := range []string{"ag_matmul", "matmul_rs", "matmul_ar"} {
		for _, size := range sizes {
			params := schedules.Problem{Ranks: 2, M: size[0], N: size[1], K: size[2]}.Params()
			p, err := model.Load("spec.yaml", []byte(autoSpec(t, name, "auto")), params)
			if err != nil {
				t.Fatal(err)
			}
			lowered, err := lowering.Lower(p, lowering.Options{Machine: m})
			if err != nil {
				t.Fatal(err)
			}
			prediction, err := cost.Predict(lowered.Programs(), m)
			if err != nil {
				t.Fatal(err)
			}
			stated := regexp.MustCompile(`predicted ([0-9.]+) us on`).FindStringSubmatch(lowered.Auto)
			if stated == nil {
				continue // a measured choice
			}
			us, err := strconv.ParseFloat(stated[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(us-prediction.Total) > 0.01*us {
				t.Errorf("%s %v: the program takes %.1f us, and auto states %s", name, size, prediction.Total, lowered.Auto)
			}
		}
	}
}

// withoutChoices removes the lines choices and auto from the text of a program.
func withoutChoices(program string) string {
	return regexp.MustCompile(`(?m)^(choices|auto) .*\n`).ReplaceAllString(program, "")
}
