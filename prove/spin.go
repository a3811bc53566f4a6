package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/prove/spinning"
)

// spinning warns of kernels that may wait for each other forever. Each waits, directly or not, for a kernel that finds
// no free SMs, because the next kernel of the cycle occupies them while it waits.
func (v *verification) spinning() {
	cycles, ok := spinning.Find(v.p)
	if !ok {
		v.add(Finding{
			Check: Spinning, Severity: Warning,
			Message: fmt.Sprintf("more than %d kernels wait, and whether they need each other's SMs was not looked at", spinning.Most),
		})
		return
	}
	for _, cycle := range cycles {
		f := Finding{
			Check: Spinning, Severity: Warning,
			Message: fmt.Sprintf("%s may wait for each other, where a kernel that waits leaves no SMs to others", count(len(cycle), "kernel")),
		}
		for i, at := range cycle {
			p := place(v.p, at.Rank, at.Op, at.Call)
			next := cycle[(i+1)%len(cycle)]
			p.Why = fmt.Sprintf("needs a kernel of rank %d, which may find no SMs beside:", next.Rank)
			f.At = append(f.At, p)
		}
		if len(cycle) == 1 {
			f.Message = f.At[0].Operation + " may hold the SMs that a kernel needs which it waits for"
		}
		v.add(f)
	}
}
