package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/chart"
)

// fewestPoints is the least number of points of a curve.
const fewestPoints = 3

// curves returns the charts of a result: one for each program and each numeric field of its labels. A curve connects
// measured rows whose labels differ only in that field. Baselines are left out, and so are curves of fewer than
// fewestPoints points.
func curves(rows []Row) []chart.Chart {
	type key struct{ program, field string }
	found := map[key]map[string][]chart.Sample{}
	var order []key
	for _, row := range rows {
		if row.Median == 0 || row.Baseline {
			continue
		}
		for _, field := range strings.Fields(row.Label) {
			name, text, _ := strings.Cut(field, "=")
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || x <= 0 {
				continue
			}
			k := key{row.Name, name}
			if found[k] == nil {
				found[k] = map[string][]chart.Sample{}
				order = append(order, k)
			}
			rest := strings.Join(slices.DeleteFunc(strings.Fields(row.Label), func(word string) bool { return word == field }), " ")
			found[k][rest] = append(found[k][rest], chart.Sample{X: x, Value: row.Median, Dashed: row.Predicted})
		}
	}
	var list []chart.Chart
	for _, k := range order {
		var drawn []chart.Curve
		for _, name := range slices.Sorted(maps.Keys(found[k])) {
			if samples := found[k][name]; len(samples) >= fewestPoints {
				drawn = append(drawn, chart.Curve{Name: cmp.Or(name, "as written"), Samples: samples})
			}
		}
		if len(drawn) > 0 {
			list = append(list, chart.Draw(fmt.Sprintf("%s over %s", k.program, k.field), k.field, microseconds, false, drawn))
		}
	}
	return list
}

func microseconds(us float64) string { return fmt.Sprintf("%.5g us", us) }
