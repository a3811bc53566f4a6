package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Curve is a named list of samples, in any order.
type Curve struct {
	Name    string
	Samples []Sample
}

// Sample has the values of a curve's solid and dashed line at X > 0. A value of 0 means that the line has no point at X.
type Sample struct{ X, Value, Dashed float64 }

// either returns the value of the solid line, or of the dashed line if the solid line has no point at X.
func (s Sample) either() float64 { return cmp.Or(s.Value, s.Dashed) }

// A Chart is a layout of curves over the values of one field. All positions are in pixels from the top left corner.
type Chart struct {
	Title, Field  string
	Width, Height int
	Left, Bottom  int // x of the axis of values, and y of the axis of the field
	Curves        []curveView
	Ticks         []tick // labels of the field, below
	Times         []tick // labels of the values, at the left
	Linear        bool   // the axis of values is linear, from 0; otherwise logarithmic
}

// Right returns the x position of the right end of the horizontal lines.
func (c Chart) Right() int { return Width - legendWidth + 10 }

// TimeAt returns the x position of the right end of the value labels.
func (c Chart) TimeAt() int { return c.Left - 8 }

// TickAt returns the y position of the baseline of the labels in Ticks.
func (c Chart) TickAt() int { return c.Bottom + 18 }

// FieldAt returns the y position of the baseline of the field's name.
func (c Chart) FieldAt() int { return c.Bottom + 40 }

// Middle returns the x position of the middle of the lower axis.
func (c Chart) Middle() int { return (c.Left + c.Right()) / 2 }

type tick struct {
	At   float64
	Text string
}

// curveView is the layout of a curve and of its entry in the legend. Style is the index of its colour. Path and Dashed are
// the points of the solid and the dashed SVG polyline.
type curveView struct {
	Name             string
	Style            int
	Path, Dashed     string
	Points           []point
	LegendX, LegendY int
}

// LegendText returns the x position of the left end of the curve's name in the legend.
func (c curveView) LegendText() int { return c.LegendX + 12 }

// point is a sample. Its circle is hollow if only the dashed line has a value.
type point struct {
	X, Y   float64
	Text   string
	Hollow bool
}

// Width is the width of all charts, in pixels.
const Width = 900

// Extents of a chart in pixels, and the number of colours.
const (
	height      = 320 // at least: a long legend makes the chart higher
	left        = 80  // x position of the axis of values
	below       = 50  // height of the space below the lower axis
	legendWidth = 240
	styles      = 6
)

// Draw computes the layout of curves, whose legend keeps the given order. The axis of the field is logarithmic. The axis
// of values is linear from 0 if linear is set, and otherwise logarithmic. text formats a value.
func Draw(title, field string, text func(float64) string, linear bool, curves []Curve) Chart {
	c := Chart{Title: title, Field: field, Width: Width, Height: height, Left: left, Bottom: height - below, Linear: linear}
	var all []Sample
	for _, curve := range curves {
		all = append(all, curve.Samples...)
	}
	if len(all) == 0 {
		return c
	}
	x := scale(all, left+20, Width-legendWidth, func(s Sample) []float64 { return []float64{s.X} })
	low, high := all[0].either(), all[0].either()
	for _, s := range all {
		low, high = min(low, s.either()), max(high, s.either())
	}
	y := scale(all, float64(c.Bottom-15), 20, func(s Sample) []float64 { return []float64{s.Value, s.Dashed} })
	if linear {
		low, y = 0, func(value float64) float64 { return float64(c.Bottom) - float64(c.Bottom-20)*value/high }
	}
	for n, curve := range curves {
		one := curveView{Name: Cut(curve.Name), Style: n % styles, LegendX: Width - legendWidth + 20, LegendY: 30 + 20*n}
		list := slices.SortedFunc(slices.Values(curve.Samples), func(a, b Sample) int { return cmp.Compare(a.X, b.X) })
		for _, s := range list {
			p := point{X: x(s.X), Y: y(s.either()), Text: fmt.Sprintf("%s=%g: %s", field, s.X, text(s.either())), Hollow: s.Value == 0}
			one.Points = append(one.Points, p)
			if s.Value > 0 {
				one.Path += fmt.Sprintf("%.1f,%.1f ", x(s.X), y(s.Value))
			}
			if s.Dashed > 0 {
				one.Dashed += fmt.Sprintf("%.1f,%.1f ", x(s.X), y(s.Dashed))
			}
		}
		c.Curves = append(c.Curves, one)
		c.Height = max(c.Height, one.LegendY+30)
	}
	c.Ticks = ticks(all, x)
	for _, value := range round(low, high) {
		c.Times = append(c.Times, tick{y(value), text(value)})
	}
	return c
}

// apart returns the least readable distance between the centres of two adjacent labels, in pixels.
func apart(a, b string) float64 { return float64(4*(len(a)+len(b)) + 8) }

// ticks returns the labels of the lower axis: the values X of all samples in ascending order, without those too near to the
// previous label.
func ticks(all []Sample, x func(float64) float64) []tick {
	var list []tick
	for _, s := range slices.SortedFunc(slices.Values(all), func(a, b Sample) int { return cmp.Compare(a.X, b.X) }) {
		one := tick{x(s.X), fmt.Sprintf("%g", s.X)}
		if n := len(list); n == 0 || one.At-list[n-1].At >= apart(list[n-1].Text, one.Text) {
			list = append(list, one)
		}
	}
	return list
}

// scale returns a logarithmic map from values to pixels. It applies the function `of` to all samples, and maps the
// smallest positive result to the pixel `from` and the largest to `to`. If they are within 2 %, it widens their range.
func scale(all []Sample, from, to float64, of func(Sample) []float64) func(float64) float64 {
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

// round returns round values from low to high: the result of decades if high is more than 8 times a positive low, otherwise 3 to
// 12 evenly spaced values. If no step gives 3 to 12 values, it returns low and high.
func round(low, high float64) []float64 {
	const fewest, most = 3, 6
	if low > 0 && high > wide*low {
		return decades(low, high)
	}
	// Try coarse steps before fine ones. A step is the power of ten at or above high, divided by parts.
	for _, parts := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		step := math.Pow(10, math.Ceil(math.Log10(high))) / parts
		var list []float64
		for value := math.Ceil(low/step) * step; value <= high; value += step {
			list = append(list, value)
		}
		if len(list) >= fewest && len(list) <= 2*most {
			return list
		}
	}
	return []float64{low, high}
}

// wide is the ratio of the greatest to the least value above which evenly spaced labels would crowd at the top of a
// logarithmic axis.
const wide = 8

// decades returns 1, 2 and 5 times the powers of ten from low to high, or only the powers of ten if high > 1000 low.
func decades(low, high float64) []float64 {
	steps := []float64{1, 2, 5}
	if high > 1e3*low {
		steps = steps[:1]
	}
	var list []float64
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, step := range steps {
			if value := step * power; value >= low && value <= high {
				list = append(list, value)
			}
		}
	}
	return list
}

// mostLabel is the number of characters above which Cut shortens a label.
const mostLabel = 32

// Cut replaces the middle of a label of more than 32 characters with an ellipsis.
func Cut(label string) string {
	runes := []rune(label)
	if len(runes) <= mostLabel {
		return label
	}
	half := (mostLabel - 1) / 2
	return string(runes[:half]) + "…" + string(runes[len(runes)-half:])
}
