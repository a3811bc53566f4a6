package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/prove/events"
)

// modes lists the assumptions about the concurrency of a GPU. For a deadlock under each, it has the check that
// reports the deadlock, the severity, and the words of the message.
var modes = []struct {
	mode     events.Mode
	check    Check
	severity Severity
	on       string
}{
	{events.Ideal, Deadlock, Error, "where everything runs at once that streams allow"},
	{events.Serialized, Serial, Error, "where the communications of a GPU run one after the other, as they were issued"},
	{events.OneQueue, Queue, Warning, "where the streams of a GPU share one hardware queue"},
	{events.Loading, Load, Warning, "where a kernel is loaded at its first launch, as without CUDA_MODULE_LOADING=EAGER"},
}

// deadlock runs one call in each mode, reports deadlocks, and stops after one that is an error. If the ranks can run
// their operations sequentially, no mode gets stuck, and deadlock runs none. One call is enough: an operation waits
// only for operations of the same call or of earlier ones, so every cycle is within one call.
func (v *verification) deadlock() {
	if events.Sequential(v.p) {
		return
	}
	for _, m := range modes {
		if m.mode == events.Loading && v.p.Calls.Graph {
			continue // all kernels are loaded when the call is captured
		}
		d := events.Run(v.p, events.Options{Mode: m.mode, Calls: 1})
		if d == nil {
			continue
		}
		f := Finding{Check: m.check, Severity: m.severity}
		for _, l := range d.Links {
			at := place(v.p, l.Rank, l.Op, l.Call)
			at.Why = l.Why
			f.At = append(f.At, at)
		}
		f.Message = fmt.Sprintf("%d operations wait for each other, %s", len(d.Links), m.on)
		if !d.Closed {
			last := f.At[len(f.At)-1]
			f.Message = fmt.Sprintf("%s of rank %d %s, %s", last.Operation, last.Rank, last.Why, m.on)
		}
		v.add(f)
		if m.severity == Error {
			return // the other modes would usually report the same deadlock
		}
	}
}
