package prove_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

var updateWarnings = flag.Bool("update-warnings", false, "write testdata/warnings.txt")

// variants are settings of the schedule: none, and some under which kernels or streams wait in different ways.
var variants = [][]model.Setting{
	nil,
	{{Path: "", Value: "eager"}},
	{{Path: "all.via", Value: "nccl"}},
	{{Path: "all.via", Value: "ipc-get"}, {Path: "all.copy", Value: "sm"}},
	{{Path: "all.via", Value: "ipc-put"}, {Path: "all.copy", Value: "fused"}},
	{{Path: "all.via", Value: "ipc-put"}, {Path: "all.copy", Value: "sm"}, {Path: "all.lead", Value: "1"}},
	{{Path: "all.via", Value: "ipc-get"}, {Path: "all.lead", Value: "none"}},
	{{Path: "all.via", Value: "ipc-put"}, {Path: "all.signals", Value: "batched"}, {Path: "streams", Value: "1"}},
	{{Path: "all.fuse", Value: "peer-read"}},
}

// warned lists the examples whose warnings are checked in.
var warned = []string{
	"ag_matmul", "ag_matmul_anywhere", "ag_matmul_p2p", "ag_matmul_ring", "allgather_p2p", "gpt2_mlp", "llama_block", "matmul_ar_peer_read",
	"matmul_ar_sub_chunks", "matmul_rs_p2p", "matmul_rs_peer_read", "matmul_rs_ring", "moe_a2a", "swiglu_p2p",
}

// TestWarnings compares the warnings of examples with the expected warnings, under each schedule that an example accepts. A
// new warning needs a review.
func TestWarnings(t *testing.T) {
	var got strings.Builder
	for _, name := range warned {
		for _, settings := range variants {
			programs, err := provetest.Lower(provetest.Spec(name), nil, settings...)
			if err != nil {
				continue // the schedule is not for this example
			}
			title := name
			for _, s := range settings {
				title += " " + strings.TrimPrefix(s.Path+"="+s.Value, "=")
			}
			for _, p := range programs {
				report, err := prove.Program(p)
				if err != nil {
					t.Fatal(err)
				}
				for i := range report.Findings {
					f := &report.Findings[i]
					fmt.Fprintf(&got, "%s\n  %s: %s: %s\n", title, f.Severity, f.Check, f.Message)
					for _, at := range f.At {
						fmt.Fprintf(&got, "    rank %d, %s: %s %s\n", at.Rank, at.Stream, at.Operation, at.Why)
					}
				}
			}
		}
	}
	const golden = "testdata/warnings.txt"
	if *updateWarnings {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
