package schedules

import (
	"slices"

	"github.com/hirgen/hirgen/model/schedule"
)

// Known are the schedules that were the fastest of a measurement, and those that are predicted beside them, each
// once: the choices in which a program on so many ranks can differ from the default.
func Known(ranks int) [][]schedule.Choice {
	var list [][]schedule.Choice
	seen := map[string]bool{}
	for _, m := range append(slices.Clone(measured), unmeasured(ranks)...) {
		if !seen[m.schedule] {
			seen[m.schedule] = true
			list = append(list, m.choices)
		}
	}
	return list
}
