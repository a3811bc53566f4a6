package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Curve is samples of one name.
type Curve struct {
	Name    string
	Samples []Sample
}

// Sample is a value at X, which is more than 0, as a full line has it and as a dashed one: 0 where that one has none.
type Sample struct{ X, Value, Dashed float64 }

// either is the value of the full line, and of the dashed one where that has none.
func (s Sample) either() float64 { return cmp.Or(s.Value, s.Dashed) }

// A Chart is curves over one field, with every number placed.
type Chart struct {
	Title, Field  string
	Width, Height int
	Left, Bottom  int
	Curves        []curveView
	Ticks         []tick // below
	Times         []tick // at the left
}

// Right is where lines of values end.
func (c Chart) Right() int { return Width - legendWidth + 10 }

// TimeAt is where the text of a value ends.
func (c Chart) TimeAt() int { return c.Left - 8 }

// TickAt is where the text of a tick stands.
func (c Chart) TickAt() int { return c.Bottom + 18 }

// FieldAt is where the name of the field stands.
func (c Chart) FieldAt() int { return c.Bottom + 40 }

// Middle is where the lower axis has its middle.
func (c Chart) Middle() int { return (c.Left + c.Right()) / 2 }

type tick struct {
	At   float64
	Text string
}

// curveView is a curve, its dashed line, and its place in the legend; Style picks its colour and marks.
type curveView struct {
	Name             string
	Style            int
	Path, Dashed     string
	Points           []point
	LegendX, LegendY int
}

// LegendText is where the name of a curve stands.
func (c curveView) LegendText() int { return c.LegendX + 12 }

// point is a sample; a hollow one has a dashed line alone.
type point struct {
	X, Y   float64
	Text   string
	Hollow bool
}

// Width is that of all charts, in pixels.
const Width = 900

// Extents of a chart of curves, in pixels, and how many colours there are.
const (
	height      = 320
	left        = 80
	below       = 50
	legendWidth = 240
	styles      = 6
)

// Draw draws curves, in the order given. Both axes are logarithmic; text spells values.
func Draw(title, field string, text func(float64) string, curves []Curve) Chart {
	c := Chart{Title: title, Field: field, Width: Width, Height: height, Left: left, Bottom: height - below}
	var all []Sample
	for _, curve := range curves {
		all = append(all, curve.Samples...)
	}
	if len(all) == 0 {
		return c
	}
	x := scale(all, left+20, Width-legendWidth, func(s Sample) []float64 { return []float64{s.X} })
	y := scale(all, float64(c.Bottom-15), 20, func(s Sample) []float64 { return []float64{s.Value, s.Dashed} })
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
	for _, value := range round(all) {
		c.Times = append(c.Times, tick{y(value), text(value)})
	}
	return c
}

// apart is how far two texts beside each other have their middles from each other, in pixels, so that they can be read.
func apart(a, b string) float64 { return float64(4*(len(a)+len(b)) + 8) }

// ticks are the values of the field, but for those too near to one before.
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

// scale maps the logarithm of values onto a range of pixels.
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

// round are some round values between the least and the most; these two where there are none.
func round(all []Sample) []float64 {
	const fewest, most = 3, 6
	low, high := all[0].either(), all[0].either()
	for _, s := range all {
		low, high = min(low, s.either()), max(high, s.either())
	}
	if high > wide*low {
		return decades(low, high)
	}
	// From coarse steps to fine ones, in parts of the next power of ten.
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

// wide is the ratio of the most to the least from which even steps would crowd together at the top.
const wide = 8

// decades are 1, 2 and 5 times powers of ten between two values; powers of ten alone where these are many.
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

// mostLabel is how many characters of a label fit, beside a bar or in a legend.
const mostLabel = 32

// Cut shortens a label in its middle.
func Cut(label string) string {
	runes := []rune(label)
	if len(runes) <= mostLabel {
		return label
	}
	half := (mostLabel - 1) / 2
	return string(runes[:half]) + "…" + string(runes[len(runes)-half:])
}
