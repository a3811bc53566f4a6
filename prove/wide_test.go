package prove_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// TestWhatWasFound proves programs whose lowering is easy to get wrong.
func TestWhatWasFound(t *testing.T) {
	set := func(path, value string) model.Setting { return model.Setting{Path: path, Value: value} }
	for _, c := range []struct {
		spec     string
		settings []model.Setting
		params   map[string]int64
	}{
		// Each rank has to send its first shard before it waits for one.
		{"matmul_ar_p2p", []model.Setting{set("", "auto"), set("all.steps", "ring")}, nil},
		// Compute streams have to be forked from the stream that is captured.
		{"ag_matmul_bcast", []model.Setting{set("graph", "true"), set("all.lead", "1")}, nil},
		{"ag_linear_p2p", []model.Setting{set("streams", "2"), set("graph", "true"), set("all.via", "ipc-put"), set("all.local", "last"),
			set("all.block", "1")}, nil},
		// The copy stream has to be joined on nodes with several ranks.
		{"ag_matmul_p2p", []model.Setting{set("transport", "auto"), set("all.via", "ipc-get"), set("graph", "true"), set("all.lead", "2")},
			nil},
		// On one rank there is no copy stream to fork or join.
		{"allgather_p2p", []model.Setting{set("transport", "auto"), set("graph", "true")}, map[string]int64{"D": 1}},
	} {
		programs, err := provetest.Lower(provetest.Spec(c.spec), c.params, c.settings...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			report, err := prove.Program(p)
			if err != nil {
				t.Fatal(err)
			}
			if !report.Proved() {
				var text strings.Builder
				report.Text(&text)
				t.Errorf("%s %v\n%s", c.spec, c.settings, text.String())
			}
		}
	}
}

// TestNothingIsFound proves every example with random schedules, mostly on 2, 4 or 8 ranks. Every program that
// hirgen lowers should be provable, so a finding is a bug of either the lowering or the proof.
func TestNothingIsFound(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("HIRGEN_TEST_FULL") != "" {
		seeds = 200
	}
	specs, err := filepath.Glob(provetest.Spec("*"))
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, path := range specs {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				drawn := provetest.Draw(path, seed)
				if drawn.Programs == nil {
					t.Fatal(drawn.What)
				}
				for _, p := range drawn.Programs {
					report, err := prove.Against(p, drawn.Load)
					if err != nil {
						t.Fatal(err)
					}
					if !report.Proved() {
						var text strings.Builder
						report.Text(&text)
						t.Errorf("%s\n%s", drawn.What, text.String())
					}
				}
			}
		})
	}
}
