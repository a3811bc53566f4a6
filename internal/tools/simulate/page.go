package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/hirgen/hirgen/internal/base/chart"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(chart.Parts("page").Parse(pageText))

// view is the data of the page.
type view struct {
	*Result
	Columns []column
	Charts  []chart.Chart
	Lines   []line
}

// line is a row of the table. For a refused row, Rest is the number of columns that the reason spans.
type line struct {
	Row
	Cells []string
	Rest  int
}

// mostClasses is the most classes of ranks that the page lists for a row, which bounds its size.
const mostClasses = 32

// Shown returns the classes that the page lists. Hidden is the number of the others.
func (l line) Shown() []Class { return l.Classes[:min(len(l.Classes), mostClasses)] }
func (l line) Hidden() int    { return len(l.Classes) - len(l.Shown()) }

// Name returns the heading of a column.
func (c column) Name() string { return c.name }

// About describes the values of a column.
func (c column) About() string { return c.about }

// Page prints curves over the number of ranks, the table, and the basis of the predictions.
func (r *Result) Page(w io.Writer) error {
	v := view{Result: r, Columns: r.columns()}
	for _, row := range r.Rows {
		one := line{Row: row, Cells: row.cells(v.Columns)}
		if row.Refused != "" {
			one.Cells, one.Rest = one.Cells[:known], len(v.Columns)-known
		}
		v.Lines = append(v.Lines, one)
	}
	times := []chart.Curve{
		r.curve("compute", func(row Row) float64 { return row.Compute }),
		r.curve("exposed", func(row Row) float64 { return row.Exposed }),
		r.curve("call", func(row Row) float64 { return row.Predicted }), // drawn above the others
	}
	efficiency := []chart.Curve{r.curve("efficiency", func(row Row) float64 { return row.Efficiency })}
	if len(efficiency[0].Samples) > 0 {
		v.Charts = []chart.Chart{
			chart.Draw("time of a call: "+r.scaling()+" scaling", "ranks", duration, r.Scale != "", times),
			chart.Draw("efficiency: "+r.scaling()+" scaling", "ranks", percent, true, efficiency),
		}
	}
	return page.Execute(w, v)
}

func (r *Result) scaling() string {
	if r.Scale != "" {
		return "weak"
	}
	return "strong"
}

// curve returns a figure over the number of ranks: a full line as far as the machine was measured, then a dashed line.
func (r *Result) curve(name string, of func(Row) float64) chart.Curve {
	c := chart.Curve{Name: name}
	for i, row := range r.Rows {
		value := of(row)
		if row.Predicted == 0 || value == 0 {
			continue
		}
		s := chart.Sample{X: float64(row.Ranks), Value: value}
		switch {
		case !row.Measured:
			s.Value, s.Dashed = 0, value
		case !r.measuredAfter(i): // the dashed line begins here
			s.Dashed = value
		}
		c.Samples = append(c.Samples, s)
	}
	return c
}

// measuredAfter reports whether the next row with a prediction uses measured figures, or there is no such row.
func (r *Result) measuredAfter(i int) bool {
	for _, row := range r.Rows[i+1:] {
		if row.Predicted > 0 {
			return row.Measured
		}
	}
	return true
}

func duration(us float64) string {
	if us >= 1000 {
		return fmt.Sprintf("%.4g ms", us/1000)
	}
	return fmt.Sprintf("%.4g us", us)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
