package recall

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/recall/faults"
)

// broken names the subjects whose lowering the test breaks.
var broken = []string{
	"ag_matmul", "ag_matmul_p2p, all.via: ipc-get", "matmul_ar_p2p", "matmul_rs_p2p, all.via: ipc-get, all.fuse: peer-read", "matmul_rs_ring",
	"llama_block",
}

// TestFaultsOfTheLowering checks that the checkers reject the program of a lowering with a mistake in one pass if the
// oracle shows it to be wrong. At least three quarters of the faults have an effect on these subjects: the program is
// wrong, or a later pass refuses it. make verify-report breaks the lowering of all subjects.
func TestFaultsOfTheLowering(t *testing.T) {
	options := Options{PerKind: 1, Seed: 3, Orders: 6, Check: All(Prove, Values)}
	subjects := slices.DeleteFunc(slices.Clone(examples(t)), func(s *Subject) bool { return !slices.Contains(broken, s.Name) })
	without := map[string]bool{}
	for _, title := range Faults() {
		without[title] = true
	}
	for _, r := range RunFaults(subjects, options) {
		if r.Survives() {
			t.Errorf("%s: %s: %s: %s: %s", r.Subject, r.Kind, r.What, r.Effect, r.Why)
		}
		if r.Refused != nil || r.Effect != None {
			delete(without, r.Kind)
		}
	}
	if len(subjects) != len(broken) || len(without) > len(faults.All)/4 {
		t.Errorf("%d subjects; without an effect: %v", len(subjects), without)
	}
}
