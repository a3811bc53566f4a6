package prove

import (
	"github.com/hirgen/hirgen/prove/unroll"
)

// records reports waits for events that nothing before them in the call has recorded. Such a wait orders nothing. It is wrong
// even if other edges enforce the intended order.
func (v *verification) records() {
	said := map[int32]bool{}
	for n := range v.p.Ranks {
		for i, o := range v.p.Ranks[n].Ops {
			if o.Kind != unroll.Wait || o.Arg >= 0 || said[o.Stmt] {
				continue
			}
			said[o.Stmt] = true
			at := place(v.p, int32(n), int32(i), 0)
			v.add(Finding{
				Check: Records, Severity: Error, At: []Place{at}, Missing: "an EventRecord of its event before it",
				Message: at.Operation + " waits for an event that nothing before it in the call records",
				Chains:  []Chain{around(v.p, int32(n), int32(i), 0, "")},
			})
		}
	}
}
