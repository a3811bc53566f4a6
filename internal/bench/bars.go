package bench

import "github.com/hirgen/hirgen/internal/chart"

// Extents of charts of bars, in pixels.
const (
	labelWidth = 260 // left of bars
	valueWidth = 110 // right of them
	barHeight  = 26
)

// bars is a chart of the times of some rows.
type bars struct {
	Height int
	Bars   []barView
	GEMMs  float64 // where the time of the GEMMs alone is; 0: not known
}

// barView is a bar: a row's median, from its 10th to its 90th percentile, and the prediction.
type barView struct {
	Label, Value      string
	Full              string // label, uncut
	Class             string
	Y, Middle         int
	Length, Low, High float64
	Predicted         float64 // where it is; 0: there is none
	From              int
	LabelAt           int
}

// ValueAt is where the time stands, right of all that is drawn.
func (b barView) ValueAt() float64 {
	return max(float64(b.From)+b.Length, b.High, b.Predicted) + 10
}

// barsOf draws those rows that were measured.
func barsOf(rows []Row) bars {
	longest := 0.0
	for _, row := range rows {
		longest = max(longest, row.P90, row.Predicted, row.Products)
	}
	place := func(us float64) float64 {
		if us == 0 {
			return 0
		}
		return labelWidth + us/longest*(chart.Width-labelWidth-valueWidth)
	}
	var b bars
	for _, row := range rows {
		if row.Median == 0 {
			continue
		}
		y := len(b.Bars) * barHeight
		class := "case"
		switch {
		case row.Status == Wrong:
			class = "wrong"
		case row.Baseline:
			class = "baseline"
		}
		b.Bars = append(b.Bars, barView{
			Label: chart.Cut(row.caseName()), Full: row.caseName(), Value: number(row.Median, 1) + " us", Class: class, Y: y + 4, Middle: y + 4 + (barHeight-8)/2,
			From: labelWidth, LabelAt: labelWidth - 8, Length: place(row.Median) - labelWidth, Low: place(row.P10), High: place(row.P90), Predicted: place(row.Predicted),
		})
		b.GEMMs = max(b.GEMMs, place(row.Products))
	}
	b.Height = len(b.Bars)*barHeight + 4
	return b
}
