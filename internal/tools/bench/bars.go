package bench

import (
	"cmp"
	"strconv"
)

// full is the width that the scale of the bars spans, in percent of the bar column. The rest leaves space for marks at
// both ends.
const full = 97

// bars converts the times of a problem's rows to positions in the bar column. longest is the largest time, in
// microseconds.
type bars struct {
	longest float64
}

// barsOf returns a scale on which the longest time of the rows takes full percent of the bar column.
func barsOf(rows []Row) bars {
	var b bars
	for _, row := range rows {
		b.longest = max(b.longest, row.P90, row.Median, row.Predicted, row.Products)
	}
	return b
}

// barView is the bar of a row: its median, the range from its 10th to its 90th percentile, and the prediction. A field
// is empty if its value is not known, and Spread also if both percentiles are equal.
type barView struct {
	Length, Low, Spread, Predicted string
}

// of returns the bar of a row. All its fields are empty if the row was not measured.
func (b bars) of(row *Row) barView {
	if row.Median == 0 {
		return barView{}
	}
	bar := barView{Length: b.place(row.Median), Low: b.place(row.P10), Predicted: b.place(row.Predicted)}
	if row.P90 > row.P10 {
		bar.Spread = b.place(row.P90 - row.P10)
	}
	return bar
}

// place returns the position of a time, in percent of the bar column. It is empty if the time is not known.
func (b bars) place(us float64) string {
	if us == 0 {
		return ""
	}
	return percent(full * us / b.longest)
}

func percent(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// fastest returns the fastest measured row with status OK among the peers or among hirgen's programs. It is nil if
// there is none.
func fastest(rows []Row, peers bool) *Row {
	var best *Row
	for i := range rows {
		if row := &rows[i]; row.Peer == peers && row.Status == OK && row.Median > 0 && (best == nil || cmp.Less(row.Median, best.Median)) {
			best = row
		}
	}
	return best
}
