package lowering

import (
	"errors"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestSumsReadInPlaceShareAPipeline checks peer-read sums in pipelines with other exchanges, also of batches and of
// views, whole or in sub-chunks.
func TestSumsReadInPlaceShareAPipeline(t *testing.T) {
	refused := map[string]string{
		"two reductions of the same parts": "peer-read supports only sums, got max",
		"parts that are a view":            "peer-read reads the parts of C where they lie, and these are views that are made slice by slice",
		"batches outside of the slices":    "a part does not lie in memory as C does, axis by axis",
		"one batch outside of the slices":  "a part does not lie in memory as C does, axis by axis",
	}
	for _, s := range append(sharedSpecs, cutSpecs...) {
		if !strings.Contains(s.steps, "rotation") || !strings.Contains(s.ops, "sum") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, lead := range []string{"", "all.lead none"} {
				for _, n := range []int64{0, 4, 2, 1} {
					p := lowertest.Pipeline(t, 2, s.tensors, s.ops)
					choose(&p.Schedule, "pipeline p2p, all.via ipc-get, all.fuse peer-read, all.signals batched", lead, gemms(n, 2))
					why := refused[s.name]
					// With a single GEMM for all slices, partial sums that are views of slices are allowed.
					if why != "" && (n != 1 || !strings.Contains(why, "slice by slice")) {
						wantRefused(t, p, why)
						continue
					}
					if printed := text.Print(keepsResult(t, p, 12)); strings.Contains(printed, "Reduce(") || !strings.Contains(printed, "PeerReadSum(") {
						t.Errorf("a sum is not read in place:\n%s", printed)
					}
				}
			}
		})
	}
}

// TestReductionsOfWhatIsGathered checks that read-sums-in-place does not change local reductions of gathered tensors,
// because a buffer that peers fill need not contain partial sums.
func TestReductionsOfWhatIsGathered(t *testing.T) {
	t.Parallel()
	for local, axes := range map[string]string{"sum(F, axis=0)": "6, 4", "sum(F, axis=1)": "D, 4", "max(F, axis=0)": "6, 4"} {
		for _, fields := range []string{"all.via ipc-get", "transport auto, all.lead all, local_shard copied"} {
			t.Run(local+" "+fields, func(t *testing.T) {
				p := lowertest.Pipeline(t, 3, "A: [DIDx, D, 6, 2], B: [DIDx, 2, 6], P: [DIDx, Stream(D), 6, 6], C: [r(D), DIDx, 6, 6], E: [DIDx, 6, "+
					"4], F: [Stream(D), 6, 4], G: ["+axes+"]",
					"Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0), F = set(E), G = "+local)
				choose(&p.Schedule, "pipeline p2p, all.fuse peer-read", fields)
				printed := text.Print(keepsResult(t, p, 12))
				printed, _, _ = strings.Cut(printed, "\nfallback:")
				if strings.Count(printed, "PeerReadSum(") != 1 || strings.Count(printed, "Reduce(") != 1 {
					t.Errorf("not one sum read in place and one of the rank's own:\n%s", printed)
				}
			})
		}
	}
}

// wantRefused checks that lowering a pipeline reports exactly one error, with the given text, a hint and a position.
func wantRefused(t *testing.T, p *model.Pipeline, why string) {
	t.Helper()
	_, err := Host(p, Options{})
	var all *diag.Errors
	if !errors.As(err, &all) || len(all.Items) != 1 {
		t.Fatalf("%v, not once %q", err, why)
	}
	if d := all.Items[0]; !strings.Contains(d.Error(), why) || d.Hint == "" || !d.Pos.IsValid() {
		t.Errorf("%v, hint %q, not %q with a place and a hint", d, d.Hint, why)
	}
}
