package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// automatic reads an example spec with schedule: auto in place of its own, under the name exchange.
func automatic(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	auto := regexp.MustCompile(`(?m)^schedule: .*$`).ReplaceAllString(string(text), "schedule: auto")
	return regexp.MustCompile(`(?m)^name: .*$`).ReplaceAllString(auto, "name: exchange")
}

// TestAuto runs a program of each operation with schedule: auto, which takes the schedule measured at the nearest
// size. The first lines of the program's source name the operation.
func TestAuto(t *testing.T) {
	for _, spec := range []string{"ag_matmul_p2p", "ag_linear_p2p", "matmul_rs_p2p", "matmul_ar_p2p", "allgather_p2p"} {
		t.Run(spec, func(t *testing.T) {
			exchanges := exchanges.beside(t)
			program := exchanges.make(t, automatic(t, spec), small(spec, 2))
			source := exchanges.source(t, "exchange.cpp")
			operation := strings.Replace(strings.TrimSuffix(spec, "_p2p"), "linear", "matmul", 1)
			if want := "// Chosen by auto: " + operation; !strings.Contains(source, want) {
				t.Errorf("the program's first lines do not say %q:\n%.1500s", want, source)
			}
			mustPassInOrders(t, program, 2, transferSeedsOf(8))
		})
	}
}

// TestEveryMeasuredScheduleIsEmitted renders a program for each line of measured_schedules.tsv, at the size of that
// line.
func TestEveryMeasuredScheduleIsEmitted(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "..", "lowering", "schedules", "measured_schedules.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	emitted := 0
	for line := range strings.Lines(string(table)) {
		columns := strings.Split(line, "\t")
		ranks, err := strconv.ParseInt(columns[min(2, len(columns)-1)], 10, 64)
		if err != nil { // a comment, or the titles
			continue
		}
		spec, values := columns[0]+"_p2p", params{"D": ranks}
		for i, name := range []string{"M", "N", "K"} {
			values[name], _ = strconv.ParseInt(columns[3+i], 10, 64)
		}
		if columns[0] == "allgather" {
			delete(values, "N")
		} else if columns[0] != "ag_matmul" {
			values["K"] *= ranks // the sum over K is of all ranks
		}
		pipeline, err := model.Load("spec.yaml", []byte(automatic(t, spec)), values)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
		if err == nil {
			_, err = emit.Render(program, emit.Options{})
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		emitted++
	}
	if emitted == 0 {
		t.Error("the table is empty")
	}
}
