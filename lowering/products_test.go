package lowering

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// productSchedules lists schedules that lower matmuls and sums to different programs.
var productSchedules = map[string]string{
	"collective":      "",
	"after":           "reshard after, streams 2",
	"eager":           "preset eager",
	"broadcast":       "pipeline broadcast, buffers free",
	"reduce":          "pipeline reduce",
	"p2p":             "pipeline p2p",
	"p2p get":         "pipeline p2p, all.via ipc-get, local_shard copied",
	"p2p put":         "pipeline p2p, all.via ipc-put, all.lead all",
	"p2p auto":        "pipeline p2p, transport auto",
	"p2p at once":     "pipeline p2p, all.via ipc-get, all.block D",
	"peer-read":       "pipeline p2p, all.via ipc-get, all.fuse peer-read",
	"peer-read ahead": "pipeline p2p, all.via ipc-get, all.fuse peer-read, all.lead all, all.local last",
	"ring":            "pipeline p2p, all.steps ring",
	"ring put":        "pipeline p2p, all.steps ring, all.via ipc-put",
	"in GEMM":         "pipeline p2p, all.steps ring, all.fuse gemm",
	"in GEMM put":     "pipeline p2p, all.steps ring, all.via ipc-put, all.fuse gemm, all.lead all",
}

// TestProductsKeepTheResult checks the results of matmuls of many forms, and of sums and maxima over ranks, after each
// pass that changed the program.
func TestProductsKeepTheResult(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "products", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, choices := range productSchedules {
			if !appliesTo(name, string(text)) {
				continue
			}
			for i, d := range []int64{2, 3, 4} {
				if !inTurn(i, 3, n, len(name)) {
					continue
				}
				t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+name, func(t *testing.T) {
					p, err := model.Load("spec.yaml", text, map[string]int64{"D": d})
					if err != nil {
						t.Fatal(err)
					}
					choose(&p.Schedule, strings.ReplaceAll(choices, "block D", fmt.Sprint("block ", d)))
					fit(p)
					followPasses(t, p, lowertest.NewOracle(t, p, uint64(d)))
				})
			}
		}
	}
}

// appliesTo reports whether a schedule applies to a spec: peer-read needs a sum over ranks that scatters slices, and
// collective pipelines need specs that do not gather slice by slice.
func appliesTo(schedule, spec string) bool {
	switch {
	case strings.HasPrefix(schedule, "peer-read"):
		return strings.Contains(spec, "r(D), DIDx")
	case slices.Contains([]string{"collective", "after", "reduce"}, schedule):
		return !strings.Contains(spec, "slice by slice")
	}
	return true
}
