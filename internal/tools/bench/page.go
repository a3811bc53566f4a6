package bench

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"github.com/hirgen/hirgen/internal/base/chart"
)

//go:embed page.html.tmpl
var pageText string

// page is the template of a self-contained HTML file with the result.
var page = template.Must(chart.Parts("page").Parse(pageText))

// A view is the data of the page. All positions are already computed.
type view struct {
	Machines []string
	About    string
	Has      marks
	Summary  *summary // nil without peers
	Columns  []column
	Problems []problemView
	Curves   []chart.Chart
}

// marks records the kinds of bars and marks on the page, for the key.
type marks struct{ Peer, Baseline, Wrong, Predicted, GEMMs bool }

// problemView is a group of rows that are compared with each other. GEMMs is the position of the time of the GEMMs
// alone, in percent. It is empty if that time is not known.
type problemView struct {
	Number int
	Head   string
	GEMMs  string
	Rows   []rowView
}

// rowView is a row of the table with its bar. Tag describes a row that is not a correct program of hirgen.
type rowView struct {
	Case, Tag, Class, Reason string
	IsBest                   bool // whether it is hirgen's fastest correct program or the fastest correct peer; false if no peer is correct
	barView
	Cells []string
}

// Page prints the result with charts: a bar for each row, grouped by problem, and curves over the swept fields. A
// result with peers begins with a comparison of the fastest peer and the fastest program of each problem.
func (r *Result) Page(w io.Writer) error {
	problems := r.problems()
	v := view{About: r.About, Summary: summaryOf(problems), Columns: r.shown(), Curves: curves(r.Rows)}
	for _, row := range r.Rows {
		if row.Machine != "" && !slices.Contains(v.Machines, row.Machine) {
			v.Machines = append(v.Machines, row.Machine)
		}
		v.Has.add(&row)
	}
	for n, rows := range problems {
		v.Problems = append(v.Problems, problemOf(n+1, rows, v.Columns))
	}
	return page.Execute(w, v)
}

// problemOf returns the view of a problem: its rows with their bars, tags and cells.
func problemOf(number int, rows []Row, columns []column) problemView {
	b, own, peer := barsOf(rows), fastest(rows, false), fastest(rows, true)
	p := problemView{Number: number, Head: rows[0].Problem()}
	products := 0.0
	for i := range rows {
		row := &rows[i]
		one := rowView{Case: row.caseName(), Reason: row.Reason, barView: b.of(row), IsBest: peer != nil && (row == own || row == peer)}
		one.Tag, one.Class = row.kind()
		for _, c := range columns {
			one.Cells = append(one.Cells, c.value(row))
		}
		p.Rows = append(p.Rows, one)
		products = max(products, row.Products)
	}
	p.GEMMs = b.place(products)
	return p
}

// kind returns the tag next to the name of a row and the CSS class of its bar.
func (r *Row) kind() (tag, class string) {
	switch {
	case r.Status == Wrong:
		return string(Wrong), "wrong"
	case r.Status != OK:
		tag = string(r.Status)
	case r.Peer:
		tag = "peer"
	}
	switch {
	case r.Peer:
		class = "peer"
	case r.Baseline:
		class = "baseline"
	}
	return tag, class
}

// add records the kinds of bars and marks that a row shows. A row without times shows none.
func (m *marks) add(row *Row) {
	if row.Median == 0 {
		return
	}
	_, class := row.kind()
	m.Wrong = m.Wrong || class == "wrong"
	m.Peer = m.Peer || class == "peer"
	m.Baseline = m.Baseline || class == "baseline"
	m.Predicted = m.Predicted || row.Predicted > 0
	m.GEMMs = m.GEMMs || row.Products > 0
}

// Across returns the number of columns after the name: the bar and the figures.
func (v view) Across() int { return len(v.Columns) + 1 }

// Name returns the heading of a column.
func (c column) Name() string { return c.name }

// About describes the values of a column.
func (c column) About() string { return c.about }
