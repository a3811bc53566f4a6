package schedules

import (
	"slices"

	"github.com/hirgen/hirgen/model/schedule"
)

// Known lists, without duplicates, the schedules that were the fastest of some measurement, and the additional
// schedules that auto predicts. Each schedule is the list of its fields that differ from the default. The additional
// schedules depend on the number of ranks.
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
