package lowering

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// productSchedules are choices under which products and sums become different programs.
var productSchedules = map[string]func(*model.Schedule){
	"collective":  func(*model.Schedule) {},
	"after":       func(s *model.Schedule) { s.Reshard, s.Joins, s.Streams = "after", "after", 2 },
	"eager":       func(s *model.Schedule) { s.Pipeline = "eager" },
	"broadcast":   func(s *model.Schedule) { s.Pipeline, s.Buffers = "broadcast", "free" },
	"reduce":      func(s *model.Schedule) { s.Pipeline = "reduce" },
	"p2p":         func(s *model.Schedule) { s.Pipeline = "p2p" },
	"p2p get":     func(s *model.Schedule) { s.Pipeline, s.Transport, s.Own = "p2p", "ipc-get", "copied" },
	"p2p put":     func(s *model.Schedule) { s.Pipeline, s.Transport, s.Transfers = "p2p", "ipc-put", "ahead" },
	"p2p auto":    func(s *model.Schedule) { s.Pipeline, s.Transport = "p2p", "auto" },
	"p2p at once": func(s *model.Schedule) { s.Pipeline, s.Transport, s.Chunks = "p2p", "ipc-get", 1 },
	"direct":      func(s *model.Schedule) { s.Pipeline, s.Transport, s.Sums = "p2p", "ipc-get", "direct" },
	"direct ahead": func(s *model.Schedule) {
		s.Pipeline, s.Transport, s.Sums, s.Transfers, s.OwnStep = "p2p", "ipc-get", "direct", "ahead", "last"
	},
	"ring":     func(s *model.Schedule) { s.Pipeline = "ring" },
	"ring put": func(s *model.Schedule) { s.Pipeline, s.Transport = "ring", "ipc-put" },
	"folded":   func(s *model.Schedule) { s.Pipeline, s.Sums = "ring", "folded" },
	"folded put": func(s *model.Schedule) {
		s.Pipeline, s.Transport, s.Sums, s.Transfers = "ring", "ipc-put", "folded", "ahead"
	},
}

// TestProductsKeepTheResult follows products of every form, and sums of every type, through all
// passes.
func TestProductsKeepTheResult(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "products", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, choose := range productSchedules {
			if !goesWith(name, string(text)) {
				continue
			}
			for _, d := range []int64{2, 3, 4} {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+name, func(t *testing.T) {
					p, err := model.Load("spec.yaml", text, map[string]int64{"D": d})
					if err != nil {
						t.Fatal(err)
					}
					choose(&p.Schedule)
					followPasses(t, p, lowertest.NewOracle(t, p, uint64(d)))
				})
			}
		}
	}
}

// goesWith reports whether a spec has what a schedule is about: a sum over ranks that leaves slices
// of a Stream axis, or ranks that gather them.
func goesWith(schedule, spec string) bool {
	switch {
	case strings.HasPrefix(schedule, "direct"):
		return strings.Contains(spec, "r(D), DIDx")
	case slices.Contains([]string{"collective", "after", "reduce"}, schedule):
		return !strings.Contains(spec, "slice by slice")
	}
	return true
}
