package lowering

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// sameBits returns an error if an output may have other bits on another run and the schedule has deterministic: true. Where they
// can, the passes avoid calls whose bits may differ between runs, so most programs pass. The error names the first such output.
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
