package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLayers runs every spec under testdata/layers in fp32, with the schedule that auto chooses: parts of layers, and
// backward passes that hirgen grad wrote. Each runs on 2, 3 or 4 ranks in turn, or on all of these in a full test;
// fp8_blocks_backward always on 2.
func TestLayers(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/layers/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, path := range specs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ranks, seeds := []int64{2, 3, 4}, seedsOf(4)
		if strings.HasSuffix(path, "_backward.yaml") {
			seeds = seedsOf(2)
		}
		switch name := filepath.Base(path); {
		case name == "fp8_blocks_backward.yaml": // it sums over M, so M/D must be a multiple of 128
			ranks = ranks[:1]
		case !full:
			ranks = ranks[n%3:][:1]
		}
		for _, d := range ranks {
			t.Run(fmt.Sprintf("%s/x=%d", strings.TrimSuffix(filepath.Base(path), ".yaml"), d), func(t *testing.T) {
				layers := folder{"layers"}.beside(t)
				spec := renamed.ReplaceAllString(string(text), "name: layer")
				size := params{"D": d}
				if filepath.Base(path) == "fp8_blocks.yaml" { // 128 rows of a rank would take a minute
					size["M"] = 4 * d
				}
				layers.runs(t, strings.Replace(spec, "dtype: bf16\n", "dtype: fp32\n", 1), size, seeds)
			})
		}
	}
}

// TestScalesOfBlocks runs GEMMs with scales of blocks, on two ranks with a multiple of 4 rows, and on three with another number.
func TestScalesOfBlocks(t *testing.T) {
	text, err := os.ReadFile("../../testdata/layers/fp8_stored_blocks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []params{{"D": 2, "M": 8}, {"D": 3, "M": 3}} {
		t.Run(fmt.Sprintf("x=%d", size["D"]), func(t *testing.T) {
			folder{"layers"}.beside(t).runs(t, renamed.ReplaceAllString(string(text), "name: layer"), size, seedsOf(2))
		})
	}
}

// TestLlamaBlocksInFP32 runs llama_block and llama_block_sp on three ranks in fp32, whose tolerance is narrow.
func TestLlamaBlocksInFP32(t *testing.T) {
	for _, name := range []string{"llama_block", "llama_block_sp"} {
		t.Run(name, func(t *testing.T) {
			layers := folder{"layers"}.beside(t)
			text, err := os.ReadFile("../../testdata/specs/" + name + "/spec.yaml")
			if err != nil {
				t.Fatal(err)
			}
			spec := strings.Replace(renamed.ReplaceAllString(string(text), "name: layer"), "dtype: bf16", "dtype: fp32", 1)
			layers.runs(t, spec, params{"D": 3, "B": 2, "L": 6, "H": 12, "G": 6, "C": 4, "F": 24}, seedsOf(4))
		})
	}
}
