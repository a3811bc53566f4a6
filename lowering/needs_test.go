package lowering

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestNeeds checks, for specs in testdata, that each communication has a Need, and that the predicted time is not
// shorter with placements that avoid the communication. Each spec has its own schedule, preset: none or preset: eager in
// turn, or all of them in a full run. The needs of some specs with one of them are also compared with
// testdata/placements/needs.txt.
func TestNeeds(t *testing.T) {
	t.Parallel()
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	root := filepath.Join("..", "testdata")
	for _, of := range []string{"placements/*.yaml", "specs/*/spec.yaml", "layers/*.yaml", "grids/*.yaml", "golden/*/spec.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, of))
		if err != nil || len(files) == 0 {
			t.Fatalf("no specs: %v", err)
		}
		for n, file := range files {
			for i, preset := range []string{schedule.None, schedule.Eager, ""} {
				listed := of == "placements/*.yaml" && preset == schedule.None || of == "specs/*/spec.yaml" && preset == ""
				if !listed && !inTurn(i, 3, n) {
					continue
				}
				var settings []model.Setting
				if preset != "" {
					settings = []model.Setting{{Value: preset}}
				}
				p, _, err := model.LoadFile(file, nil, settings...)
				if err != nil {
					t.Fatal(err)
				}
				program, err := Host(p, Options{})
				if err != nil {
					t.Fatalf("%s, %s: %v", file, preset, err)
				}
				if err := lowertest.CheckNeeds(program); err != nil {
					t.Errorf("%s, %s: %v", file, preset, err)
				}
				words := needsOf(t, program, m)
				if listed {
					fmt.Fprintf(&told, "%s\n%s", program.Name, words)
				}
			}
		}
	}
	lowertest.Compare(t, filepath.Join(root, "placements", "needs.txt"), told.String())
}

// needsOf describes the needs of a program's communications, and the cost of the next best placements without each.
func needsOf(t *testing.T, p *hostir.Program, m *cost.Machine) string {
	t.Helper()
	next, err := schedules.NextBest(p, m)
	if err != nil {
		t.Fatal(err)
	}
	var words strings.Builder
	for _, m := range hostir.Movements(p) {
		best := next(m)
		if best != nil && best.Us != nil && *best.Us < 0 {
			t.Errorf("%s: without %v: %s", p.File, m, best)
		}
		fmt.Fprintf(&words, "  %s\n    %s\n", m.Why(), best)
	}
	return words.String()
}
