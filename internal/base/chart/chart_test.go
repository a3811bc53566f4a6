package chart

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func spell(x float64) string { return fmt.Sprint(x) }

// TestValuesBesideTheAxisDoNotTouch checks that the axis of values has at least two labels for each range of values, and
// that the labels of wide ranges do not overlap.
func TestValuesBesideTheAxisDoNotTouch(t *testing.T) {
	const readable = 12
	for _, high := range []float64{1.01, 1.3, 2, 5, 7.9, 8.1, 30, 400, 2e3, 1e6, 1e9} {
		for _, low := range []float64{1, 3.7, 96} {
			c := Draw("title", "ranks", spell, false,
				[]Curve{{Name: "one", Samples: []Sample{{X: 2, Value: low}, {X: 4, Dashed: low * high}}}})
			if len(c.Times) < 2 {
				t.Errorf("from %v to %v: %v", low, low*high, c.Times)
			}
			for i := 1; i < len(c.Times); i++ {
				if high > wide && c.Times[i-1].At-c.Times[i].At < readable {
					t.Errorf("from %v to %v: %v", low, low*high, c.Times)
				}
			}
		}
	}
}

// TestLinear checks that a linear axis begins at 0, and that the point of 0.5 is half as high as the point of 1.
func TestLinear(t *testing.T) {
	c := Draw("title", "ranks", spell, true,
		[]Curve{{Name: "one", Samples: []Sample{{X: 1, Value: 0.5}, {X: 2, Value: 1}}}})
	points, bottom := c.Curves[0].Points, float64(c.Bottom)
	if zero := c.Times[0]; zero.Text != "0" || zero.At != bottom || bottom-points[1].Y != 2*(bottom-points[0].Y) {
		t.Errorf("%v, %v", c.Times, points)
	}
}

// TestTicksDoNotTouch checks that of 1024 values of the field at least 8 get labels, which do not overlap.
func TestTicksDoNotTouch(t *testing.T) {
	var samples []Sample
	for i := range 1024 {
		samples = append(samples, Sample{X: float64(1024 - i), Value: float64(i + 1)})
	}
	c := Draw("title", "ranks", spell, false, []Curve{{Name: "one", Samples: samples}})
	for i, tick := range c.Ticks {
		if i > 0 && tick.At < c.Ticks[i-1].At+apart(tick.Text, c.Ticks[i-1].Text) {
			t.Errorf("%v", c.Ticks)
		}
	}
	if len(c.Ticks) < 8 || c.Ticks[0].Text != "1" {
		t.Errorf("%v", c.Ticks)
	}
}

// TestPoints checks that a sample with only a dashed value is hollow, that names are escaped, and that a chart without
// curves has no points.
func TestPoints(t *testing.T) {
	draw := func(curves ...Curve) string {
		var page bytes.Buffer
		c := Draw("a <title>", "ranks", spell, true, curves)
		if err := Parts("page").ExecuteTemplate(&page, "chart", c); err != nil {
			t.Fatal(err)
		}
		return page.String()
	}
	svg := draw(Curve{Name: "a & b", Samples: []Sample{{X: 4, Dashed: 3}, {X: 1, Value: 1}, {X: 2, Value: 2, Dashed: 2}}})
	for want, times := range map[string]int{"hollow": 1, "<polyline": 2, "a &amp; b": 1, "a &lt;title&gt;": 1,
		"<title>ranks=4: 3</title>": 1} {
		if strings.Count(svg, want) != times {
			t.Errorf("%d times %q, not %d, in\n%s", strings.Count(svg, want), want, times, svg)
		}
	}
	if empty := draw(); strings.Contains(empty, "<circle") {
		t.Error(empty)
	}
}
