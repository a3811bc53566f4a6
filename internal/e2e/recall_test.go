package e2e

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/internal/tools/recall"
	"github.com/hirgen/hirgen/internal/tools/recall/faults"
	"github.com/hirgen/hirgen/prove/mutate"
)

// TestMutantsOnTheDevice checks that a program runs right on the CPU device, and that a mutant of each of two kinds,
// which the interpreter shows to be wrong, is wrong there, too. make verify-report ARGS="-device 40" runs more of them on the device.
func TestMutantsOnTheDevice(t *testing.T) {
	subjects, err := recall.Example("../..", "ag_matmul", "")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	s, device := subjects[0], recall.Device{Dir: scratch, Flags: flags, Orders: 20}
	if effect, why := device.Judge(s, s.Program); effect != recall.None {
		t.Fatalf("as it stands: %s: %s", effect, why)
	}
	left := map[string]bool{"drop-event-wait": true, "lost-offset": true}
	for _, k := range mutate.Kinds {
		for site := 0; left[k.Name]; site++ {
			m := mutate.Make(s.Program, k, site)
			if m == nil {
				t.Fatalf("no mutant with %s is wrong", k.Name)
			}
			if effect, _ := s.Judge(m.Program, 20); effect != recall.Wrong || verify.Program(m.Program) != nil {
				continue // without an effect, or not emitted
			}
			if effect, why := device.Judge(s, m.Program); effect != recall.Wrong {
				t.Errorf("%s: %s: on the device: %s: %s", k.Name, m.What, effect, why)
			}
			delete(left, k.Name)
		}
	}
}

// TestTableFaultsInRuns checks that programs with mistakes in tables that only runs find fail on the device. Without
// the mistake they pass.
func TestTableFaultsInRuns(t *testing.T) {
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	device, judged := recall.Device{Dir: scratch, Flags: flags, Orders: 2}, 0
	for _, f := range faults.Tables() {
		if !slices.Contains(f.FoundBy, "run") {
			continue
		}
		for effect, fault := range map[recall.Effect]*faults.TableFault{recall.Fails: f, recall.None: nil} {
			s, refused, err := recall.Faulty("../..", f.Example, fault)
			if err != nil || refused != nil {
				t.Fatalf("%s: %s: %v %v", f.Table, f.Mistake, refused, err)
			}
			if got, why := device.Judge(s, s.Program); got != effect {
				t.Errorf("%s: %s: %s and not %s: %s", f.Table, f.Mistake, got, effect, why)
			}
		}
		judged++
	}
	if judged == 0 {
		t.Error("there is no such mistake")
	}
}
