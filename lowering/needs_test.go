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
// shorter with placements that avoid the communication. It compares the needs of some specs with
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
		for _, file := range files {
			for _, preset := range []string{schedule.None, schedule.Eager, ""} {
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
				if strings.HasPrefix(of, "placements") && preset == schedule.None || strings.HasPrefix(of, "specs") && preset == "" {
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
