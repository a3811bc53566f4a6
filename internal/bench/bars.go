package bench

import (
	"cmp"
	"strconv"
)

// full is how long the longest bar is, in percents of the room for bars: what marks its end needs some, too.
const full = 97

// bars says where the marks of a problem's rows are, in percents of the room for bars.
type bars struct {
	longest float64
}

// barsOf makes room for the times of some rows.
func barsOf(rows []Row) bars {
	var b bars
	for _, row := range rows {
		b.longest = max(b.longest, row.P90, row.Median, row.Predicted, row.Products)
	}
	return b
}

// barView is a bar: a row's median, from its 10th to its 90th percentile, and the prediction. What is empty is not known.
type barView struct {
	Length, Low, Spread, Predicted string
}

// of is the bar of a row; none of one that was not measured.
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

// place is where a time is; empty for one that is not known.
func (b bars) place(us float64) string {
	if us == 0 {
		return ""
	}
	return percent(full * us / b.longest)
}

func percent(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// fastest is the row of one side, peers or hirgen's own, whose results were right in the least time; nil if there is none.
func fastest(rows []Row, peers bool) *Row {
	var best *Row
	for i := range rows {
		if row := &rows[i]; row.Peer == peers && row.Status == OK && row.Median > 0 && (best == nil || cmp.Less(row.Median, best.Median)) {
			best = row
		}
	}
	return best
}
