package bench

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/hirgen/hirgen/internal/chart"
)

//go:embed page.html.tmpl
var pageText string

// page is a template by which a result is one file that needs no other.
var page = template.Must(chart.Parts("page").Parse(pageText))

// A view is what the page prints: every number is placed already.
type view struct {
	Columns  []column
	Problems []problemView
	Curves   []chart.Chart
}

// problemView is the rows that are compared with each other, as bars and as a table.
type problemView struct {
	Head  string
	Width int
	bars
	Rows []rowView
}

type rowView struct {
	Case, Reason string
	Status       Status
	Cells        []string
}

// Page prints the result with charts: a bar for each row, by problem, and curves over what was swept.
func (r *Result) Page(w io.Writer) error {
	v := view{Curves: curves(r.Rows)}
	for _, c := range columns {
		for _, row := range r.Rows {
			if c.value(&row) != "-" {
				v.Columns = append(v.Columns, c)
				break
			}
		}
	}
	for _, rows := range r.problems() {
		p := problemView{Head: rows[0].Problem(), Width: chart.Width, bars: barsOf(rows)}
		for _, row := range rows {
			one := rowView{Case: row.caseName(), Status: row.Status, Reason: row.Reason}
			for _, c := range v.Columns {
				one.Cells = append(one.Cells, c.value(&row))
			}
			p.Rows = append(p.Rows, one)
		}
		v.Problems = append(v.Problems, p)
	}
	return page.Execute(w, v)
}

// Name is the heading of a column.
func (c column) Name() string { return c.name }

// About says what a column has.
func (c column) About() string { return c.about }
