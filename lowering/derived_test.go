package lowering

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// oldDefaults are the schedules with which TestDerivedPlacements compares auto. It lowers them without
// assign-placements, so that they keep the placements of the spec.
var oldDefaults = [][]model.Setting{
	{{Value: schedule.Auto}}, {{Value: schedule.Eager}}, {{Value: model.Defaults}, {Path: schedule.Pipeline, Value: schedule.P2P}},
	{{Value: model.Defaults}, {Path: schedule.Pipeline, Value: schedule.Collective}},
}

// TestDerivedPlacements checks that no spec in testdata/placements, testdata/specs and testdata/layers is predicted more
// than 2 % slower under schedule: auto with derived placements than with the placements of the spec, under each of
// oldDefaults. It compares the specs that are faster, or that move fewer bytes, by more than 1 % with
// testdata/placements/derived.txt.
func TestDerivedPlacements(t *testing.T) {
	t.Parallel()
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	root := filepath.Join("..", "testdata")
	for _, of := range []string{"placements/*.yaml", "specs/*/spec.yaml", "layers/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, of))
		if err != nil || len(files) == 0 {
			t.Fatalf("no specs: %v", err)
		}
		for _, file := range files {
			now, sent, err := predicted(file, m, oldDefaults[0], nil)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			best, bytes := 0.0, 0.0
			for _, of := range oldDefaults {
				before, moved, err := predicted(file, m, of, []string{schedules.Placing})
				if hasNoPipeline(err) && len(of) > 1 {
					continue
				}
				if err != nil {
					t.Errorf("%s with %v: %v", file, of, err)
					continue
				}
				if now > 1.02*before {
					t.Errorf("%s: %.1f us, and %.1f us with %v and the placements of the spec", file, now, before, of)
				}
				if best == 0 || before < best {
					best, bytes = before, moved
				}
			}
			if now < 0.99*best || sent < 0.99*bytes {
				fmt.Fprintf(&list, "%s: %.1f us, %.0f bytes; before %.1f us, %.0f bytes\n", strings.TrimPrefix(file, root+"/"), now, sent,
					best, bytes)
			}
		}
	}
	lowertest.Compare(t, filepath.Join(root, "placements", "derived.txt"), list.String())
}

// hasNoPipeline reports whether hirgen refuses the pipeline that a schedule asks for: nothing in the spec crosses ranks,
// or the spec streams along an axis that this pipeline cannot have.
func hasNoPipeline(err error) bool {
	found, ok := diag.Diagnostics(err)
	return ok && !slices.ContainsFunc(found.Items, func(d *diag.Diagnostic) bool {
		return d.Code != diag.BadSchedule && d.Code != diag.NotLowerable
	})
}

// predicted returns the predicted time of a spec, in microseconds, and the bytes that rank 0 moves (cost.Call.Moved).
func predicted(file string, m *cost.Machine, by []model.Setting, without []string) (us, sent float64, err error) {
	p, _, err := model.LoadFile(file, nil, by...)
	if err != nil {
		return 0, 0, err
	}
	lowered, err := Lower(p, Options{Disable: without})
	if err != nil {
		return 0, 0, err
	}
	prediction, err := cost.Predict([]*calls.Program{lowered.Program}, m)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range prediction.Calls {
		if c.Rank == 0 {
			sent += c.Moved
		}
	}
	return prediction.Total, sent, nil
}
