package lowering

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestChooseSchedule has measurements of its own, so that cases outlast new ones.
func TestChooseSchedule(t *testing.T) {
	source, err := os.ReadFile("../testdata/pass/choose-schedule/measurements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseMeasurements(string(source))
	if err != nil {
		t.Fatal(err)
	}
	table := measured
	measured = list
	t.Cleanup(func() { measured = table })
	lowertest.PassCases(t, "choose-schedule", func(p *hostir.Program) error {
		return chooseSchedule(p, func(*hostir.Program) (string, error) { return "", nil })
	})
}

// autoSpec is an example with a schedule of its own.
func autoSpec(t *testing.T, name, chosen string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^schedule:.*$`).ReplaceAllString(string(source), "schedule: "+chosen)
}

// autoParams are the parameters of an operation's spec that give one GPU a problem.
func autoParams(p problem) map[string]int64 {
	params := map[string]int64{"D": p.ranks, "M": p.m, "N": p.n, "K": p.k}
	switch p.operation {
	case "allgather":
		delete(params, "N")
	case "matmul_rs", "matmul_ar":
		params["K"] *= p.ranks
	}
	return params
}

// TestAutoWithoutPipelines: products and sums that are in no pipeline look like an operation of the table.
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
	program := lowerAt(t, spec, problem{ranks: 1, m: 1, n: 1, k: 1})
	if !strings.Contains(program.Auto.Basis, "not measured") {
		t.Error(program.Auto.Basis)
	}
}

// TestMeasuredSchedules lowers each line of the table at its own size: auto is what the same
// schedule is when it is written out.
func TestMeasuredSchedules(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measured {
		seen[m.operation] = seen[m.operation] || !strings.Contains(m.schedule, "split") && !strings.Contains(m.schedule, "block")
		t.Run(m.String(), func(t *testing.T) {
			var program, all []string
			for _, c := range m.choices {
				if c.Of == "" {
					program = append(program, c.String())
				} else {
					all = append(all, strings.TrimPrefix(c.String(), "all."))
				}
			}
			if len(all) > 0 {
				program = append(program, "all: {"+strings.Join(all, ", ")+"}")
			}
			auto := lowerAt(t, autoSpec(t, m.operation+"_p2p", "auto"), m.problem)
			want := lowerAt(t, autoSpec(t, m.operation+"_p2p", "{"+strings.Join(program, ", ")+"}"), m.problem)
			if auto.Auto == nil || !strings.HasPrefix(auto.Auto.Basis, m.String()+": measured ") {
				t.Errorf("the program says %v of what it was chosen by", auto.Auto)
			}
			auto.Auto = nil
			if diff := cmp.Diff(anywhere(text.Print(want)), anywhere(text.Print(auto))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, operation := range operations {
		if !seen[operation] {
			t.Errorf("no line of %s fits every size", operation)
		}
	}
}

// TestAutoAtOddSizes lowers what no line of the table was measured for.
func TestAutoAtOddSizes(t *testing.T) {
	for _, operation := range operations {
		for _, ranks := range []int64{1, 2, 3, 7, 8} {
			p := problem{operation: operation, ranks: ranks, m: 5 * ranks, n: 9, k: 11}
			program := lowerAt(t, autoSpec(t, operation+"_p2p", "auto"), p)
			if !strings.HasPrefix(program.Auto.Basis, operation) {
				t.Errorf("%s: %s", p, program.Auto.Basis)
			}
		}
	}
}

func lowerAt(t *testing.T, spec string, p problem) *hostir.Program {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), autoParams(p))
	if err != nil {
		t.Fatal(err)
	}
	program, err := Lower(pipeline, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestNearestCountsDoublings(t *testing.T) {
	line := func(m int64) measurement {
		return measurement{problem: problem{operation: "x", dtype: "bf16", ranks: 4, m: m, n: 1, k: 1}}
	}
	list := []measurement{line(64), line(1024)}
	for m, want := range map[int64]int64{1: 64, 255: 64, 257: 1024, 1 << 40: 1024} {
		p := line(m).problem
		if got := nearest(list, p, schedule.Schedule{}); got.m != want {
			t.Errorf("of 64 and 1024, %d is nearest to %d", got.m, m)
		}
	}
	if got := nearest(list, problem{operation: "y"}, schedule.Schedule{}); got != nil {
		t.Errorf("another operation's line %v", got)
	}
}

func TestParseMeasurements(t *testing.T) {
	for source, want := range map[string]string{
		"operation\tus":                           "the columns are",
		measurementColumns + "\n" + "ag_matmul":   "1 columns, not 8",
		replaced("bf16", "bf8"):                   `no element type "bf8"`,
		replaced("4\t8", "4\t0"):                  `"0" is no size`,
		replaced("1.5", "soon"):                   `"soon" is no time`,
		replaced("preset eager", "preset"):        `"preset" is no choice`,
		replaced("preset eager", "colour red"):    `"colour red" is no choice`,
		replaced("preset eager", "all.split two"): `"all.split two" is no choice`,
		replaced("preset eager", "graph perhaps"): `"graph perhaps" is no choice`,
	} {
		if _, err := parseMeasurements(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error that has %q, got %v", source, want, err)
		}
	}
	if list, err := parseMeasurements("# a comment\n" + replaced("", "")); err != nil || len(list) != 1 {
		t.Errorf("a good table gives %v, %v", list, err)
	}
}

// replaced is a table of one good line, with a part of it replaced.
func replaced(old, with string) string {
	const line = "ag_matmul\tbf16\t4\t8\t8\t8\t1.5\tpreset eager"
	return measurementColumns + "\n" + strings.Replace(line, old, with, 1) + "\n"
}
