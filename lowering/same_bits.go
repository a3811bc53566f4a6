package lowering

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// sameBits returns an error if the schedule has deterministic: true and an output may have other bits on another run.
// The error names the first such output. Most programs have no such output, because with deterministic: true the passes
// avoid calls whose bits may vary, where they can.
func sameBits(host *hostir.Program, variants []*calls.Program) error {
	if host.Choices.Get(schedule.Deterministic) != schedule.True {
		return nil
	}
	var list diag.List
	for _, p := range variants {
		for _, o := range effects.Outputs(p) {
			if o.By != nil && list.Len() == 0 {
				list.Add(o.By.Meta().Pos, diag.NotLowerable, "%s may have other bits on another run: %s", o.Tensor, o.Why).
					WithHint("leave out deterministic: true")
			}
		}
	}
	return list.Err()
}
