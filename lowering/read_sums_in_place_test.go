package lowering

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

func TestReadSumsInPlace(t *testing.T) { lowertest.PassCases(t, "read-sums-in-place", ReadSumsInPlace) }

// TestSumsReadInPlaceShareAPipeline reads sums in place beside other exchanges, of batches and of
// views, whole and in pieces.
func TestSumsReadInPlaceShareAPipeline(t *testing.T) {
	refused := map[string]string{
		"two reductions of the same parts": "sums: direct supports only sums, and this is a max",
		"parts that are a view":            "sums: direct reads the parts of C where they lie, and these are views that are made slice by slice",
		"batches outside of the slices":    "a part does not lie in memory as C does, axis by axis",
		"one batch outside of the slices":  "a part does not lie in memory as C does, axis by axis",
	}
	for _, s := range append(sharedSpecs, cutSpecs...) {
		if !strings.Contains(s.pipelines, "p2p") || !strings.Contains(s.ops, "sum") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, transfers := range []string{"inline", "ahead"} {
				for _, chunks := range []int{0, 4, 2, 1} {
					p := lowertest.Pipeline(t, 2, s.tensors, s.ops)
					p.Schedule.Pipeline, p.Schedule.Transport, p.Schedule.Sums = "p2p", "ipc-get", "direct"
					p.Schedule.Transfers, p.Schedule.Chunks, p.Schedule.Signals = transfers, chunks, "batched"
					why := refused[s.name]
					// One product makes all slices, and the views of them.
					if why != "" && (chunks != 1 || !strings.Contains(why, "slice by slice")) {
						wantRefused(t, p, why)
						continue
					}
					if printed := text.Print(keepsResult(t, p, 12)); strings.Contains(printed, "Reduce(") || !strings.Contains(printed, "SumLoans(") {
						t.Errorf("a sum is not read in place:\n%s", printed)
					}
				}
			}
		})
	}
}

// TestReductionsOfWhatIsGathered leaves alone what each rank reduces by itself: that a peer filled the
// buffer does not make it one of parts.
func TestReductionsOfWhatIsGathered(t *testing.T) {
	for local, axes := range map[string]string{"sum(F, axis=0)": "6, 4", "sum(F, axis=1)": "D, 4", "max(F, axis=0)": "6, 4"} {
		for _, fields := range []string{"ipc-get inline in-place", "auto ahead copied"} {
			t.Run(local+" "+fields, func(t *testing.T) {
				p := lowertest.Pipeline(t, 3, "A: [DIDx, D, 6, 2], B: [DIDx, 2, 6], P: [DIDx, Stream(D), 6, 6], C: [r(D), DIDx, 6, 6], E: [DIDx, 6, 4], F: [Stream(D), 6, 4], G: ["+axes+"]",
					"Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0), F = set(E), G = "+local)
				p.Schedule.Pipeline, p.Schedule.Sums = "p2p", "direct"
				if _, err := fmt.Sscan(fields, &p.Schedule.Transport, &p.Schedule.Transfers, &p.Schedule.Own); err != nil {
					t.Fatal(err)
				}
				printed := text.Print(keepsResult(t, p, 12))
				printed, _, _ = strings.Cut(printed, "\notherwise:")
				if strings.Count(printed, "SumLoans(") != 1 || strings.Count(printed, "Reduce(") != 1 {
					t.Errorf("not one sum read in place and one of the rank's own:\n%s", printed)
				}
			})
		}
	}
}

// wantRefused checks that a pipeline is refused once, with a hint and a place in the spec.
func wantRefused(t *testing.T, p *model.Pipeline, why string) {
	t.Helper()
	_, err := Lower(p, Options{})
	var all *diag.Errors
	if !errors.As(err, &all) || len(all.Items) != 1 {
		t.Fatalf("%v, not once %q", err, why)
	}
	if d := all.Items[0]; !strings.Contains(d.Error(), why) || d.Hint == "" || !d.Pos.IsValid() {
		t.Errorf("%v, hint %q, not %q with a place and a hint", d, d.Hint, why)
	}
}

// TestSumsThatCannotBeReadInPlace holds what is said where no peer lends its parts.
func TestSumsThatCannotBeReadInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		set  func(*model.Schedule)
	}{
		"NCCL":      {"matmul_rs_p2p", func(s *model.Schedule) { s.Transport = "nccl" }},
		"put":       {"matmul_rs_p2p", func(s *model.Schedule) { s.Transport = "ipc-put" }},
		"a ring":    {"matmul_rs_p2p", func(s *model.Schedule) { s.Pipeline = "ring" }},
		"hosts":     {"matmul_rs_p2p", func(s *model.Schedule) { s.Hosts = "x" }},
		"pieces":    {"matmul_ar_p2p", func(s *model.Schedule) { s.Pieces = 3 }},
		"no sum":    {"ag_matmul_p2p", func(*model.Schedule) {}},
		"only sets": {"allgather_p2p", func(*model.Schedule) {}},
	} {
		for _, s := range specTexts(t) {
			if s.name != c.spec {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(2, 3))
			p.Schedule.Pipeline, p.Schedule.Transport, p.Schedule.Sums = "p2p", "ipc-get", "direct"
			c.set(&p.Schedule)
			t.Run(name, func(t *testing.T) {
				wantRefused(t, p, "has no sum over ranks that can read the parts of its peers where they are")
			})
		}
	}
}

// TestRefusedSumIsNamed holds that the place is that of the sum, not of another exchange before it.
func TestRefusedSumIsNamed(t *testing.T) {
	for _, transport := range []string{"ipc-put", "nccl"} {
		p := lowertest.Pipeline(t, 2, "E: [DIDx, 6, 4], F: [Stream(D), 6, 4], A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], C: [r(D), DIDx, 6, 4]",
			"F = set(E), Bb = broadcast(B, axis=1), P = matmul(A, Bb), C = sum(P, axis=0)")
		p.Schedule.Pipeline, p.Schedule.Transport, p.Schedule.Sums = "p2p", transport, "direct"
		_, err := Lower(p, Options{})
		var all *diag.Errors
		if !errors.As(err, &all) || all.Items[0].Pos != p.Ops[len(p.Ops)-1].Pos {
			t.Errorf("%s: %v, not at the sum", transport, err)
		}
	}
}
