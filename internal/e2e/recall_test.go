package e2e

import (
	"testing"

	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/internal/tools/recall"
	"github.com/hirgen/hirgen/prove/mutate"
)

// TestMutantsOnTheDevice: a program runs right on the CPU device, and mutants of it that the interpreter shows to be
// wrong are wrong there, too. make verify-report ARGS="-device 40" asks the device about more of them.
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
				continue // without an effect, or not printed
			}
			if effect, why := device.Judge(s, m.Program); effect != recall.Wrong {
				t.Errorf("%s: %s: on the device: %s: %s", k.Name, m.What, effect, why)
			}
			delete(left, k.Name)
		}
	}
}
