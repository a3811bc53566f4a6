package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A chart is times over one field that was swept, a curve for each of what else differs.
type chart struct {
	Title, Field  string
	Width, Height int
	Left, Bottom  int
	Curves        []curveView
	Ticks         []tick // below
	Times         []tick // at the left
}

// Right is where lines of times end, and TimeAt where their text does; TickAt and FieldAt are where the texts below stand.
func (c chart) Right() int   { return chartWidth - legendWidth + 10 }
func (c chart) TimeAt() int  { return c.Left - 8 }
func (c chart) TickAt() int  { return c.Bottom + 18 }
func (c chart) FieldAt() int { return c.Bottom + 40 }
func (c chart) Middle() int  { return (c.Left + c.Right()) / 2 }

type tick struct {
	At   float64
	Text string
}

// curveView is a curve with the predictions for its points, dashed; Style picks its colour and marks.
type curveView struct {
	Name             string
	Style            int
	Path, Predicted  string
	Points           []point
	LegendX, LegendY int
}

// LegendText is where the name of a curve stands.
func (c curveView) LegendText() int { return c.LegendX + 12 }

type point struct {
	X, Y float64
	Text string
}

// Extents of a chart of curves, in pixels, and how many colours there are.
const (
	curvesHeight = 320
	curvesLeft   = 80
	curvesBelow  = 50
	legendWidth  = 240
	curveStyles  = 6
)

// fewestPoints is what makes a curve.
const fewestPoints = 3

// curves are the charts of a result: one for each program and each field that took numbers.
func curves(rows []Row) []chart {
	type key struct{ program, field string }
	found := map[key]map[string][]sample{}
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
				found[k] = map[string][]sample{}
				order = append(order, k)
			}
			rest := strings.Join(slices.DeleteFunc(strings.Fields(row.Label), func(word string) bool { return word == field }), " ")
			found[k][rest] = append(found[k][rest], sample{x, row.Median, row.Predicted})
		}
	}
	var list []chart
	for _, k := range order {
		if c, ok := draw(k.program, k.field, found[k]); ok {
			list = append(list, c)
		}
	}
	return list
}

// sample is a time, and the predicted one, at a value of the field.
type sample struct{ x, us, predicted float64 }

// draw draws one chart, unless no curve has enough points. Both axes are logarithmic.
func draw(program, field string, samples map[string][]sample) (chart, bool) {
	c := chart{
		Title: fmt.Sprintf("%s over %s", program, field), Field: field, Width: chartWidth, Height: curvesHeight,
		Left: curvesLeft, Bottom: curvesHeight - curvesBelow,
	}
	var all []sample
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		if len(samples[name]) < fewestPoints {
			delete(samples, name)
		}
		all = append(all, samples[name]...)
	}
	if len(all) == 0 {
		return c, false
	}
	x := scale(all, curvesLeft+20, chartWidth-legendWidth, func(s sample) []float64 { return []float64{s.x} })
	y := scale(all, float64(c.Bottom-15), 20, func(s sample) []float64 { return []float64{s.us, s.predicted} })
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		list := samples[name]
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.x, b.x) })
		n := len(c.Curves)
		one := curveView{Name: cut(cmp.Or(name, "as written")), Style: n % curveStyles, LegendX: chartWidth - legendWidth + 20, LegendY: 30 + 20*n}
		for _, s := range list {
			one.Points = append(one.Points, point{x(s.x), y(s.us), fmt.Sprintf("%s=%g: %s us", field, s.x, number(s.us, 1))})
			one.Path += fmt.Sprintf("%.1f,%.1f ", x(s.x), y(s.us))
			if s.predicted > 0 {
				one.Predicted += fmt.Sprintf("%.1f,%.1f ", x(s.x), y(s.predicted))
			}
		}
		c.Curves = append(c.Curves, one)
		c.Height = max(c.Height, one.LegendY+30)
	}
	seen := map[float64]bool{}
	for _, s := range all {
		if !seen[s.x] {
			seen[s.x] = true
			c.Ticks = append(c.Ticks, tick{x(s.x), fmt.Sprintf("%g", s.x)})
		}
	}
	for _, us := range round(all) {
		c.Times = append(c.Times, tick{y(us), fmt.Sprintf("%.4g us", us)})
	}
	return c, true
}

// scale maps the logarithm of values onto a range of pixels.
func scale(all []sample, from, to float64, of func(sample) []float64) func(float64) float64 {
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		for _, value := range of(s) {
			if value > 0 {
				low, high = min(low, value), max(high, value)
			}
		}
	}
	if high < low*1.02 {
		low, high = low/1.1, high*1.1
	}
	return func(value float64) float64 {
		return from + (to-from)*(math.Log(value)-math.Log(low))/(math.Log(high)-math.Log(low))
	}
}

// round are some round times between the least and the most; these two where there are none.
func round(all []sample) []float64 {
	const fewest, most = 3, 6
	low, high := all[0].us, all[0].us
	for _, s := range all {
		low, high = min(low, s.us), max(high, s.us)
	}
	// From coarse steps to fine ones, in parts of the next power of ten.
	for _, parts := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		step := math.Pow(10, math.Ceil(math.Log10(high))) / parts
		var list []float64
		for us := math.Ceil(low/step) * step; us <= high; us += step {
			list = append(list, us)
		}
		if len(list) >= fewest && len(list) <= 2*most {
			return list
		}
	}
	return []float64{low, high}
}
