package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A column of the table. A dash means that a row has no value.
type column struct {
	name, about string
	value       func(*Row) string
}

var columns = []column{
	{"ranks", "", func(r *Row) string { return strconv.Itoa(r.Ranks) }},
	{"nodes", "", func(r *Row) string { return strconv.Itoa(r.Nodes) }},
	{"predicted us", "of a call", func(r *Row) string { return number(r.Predicted, 1) }},
	{"compute us", "in which a rank computes, of the rank with most", func(r *Row) string { return number(r.Compute, 1) }},
	{"exposed us", "in which a rank communicates and computes nothing, of the rank with most", func(r *Row) string {
		return number(r.Exposed, 1)
	}},
	{"efficiency", "", func(r *Row) string { return number(r.Efficiency, 3) }},
	{"TFLOP/s", "of a GPU's GEMMs, over the whole call", func(r *Row) string { return number(r.TFLOPs, 1) }},
	{"classes", "of ranks that do the same: one of each was simulated", func(r *Row) string { return strconv.Itoa(len(r.Classes)) }},
	{"figures", "measured: the machine's were, on as many ranks; not validated: nothing was measured there", (*Row).figures},
}

func (r *Row) figures() string {
	if r.Measured {
		return "measured"
	}
	return "not validated"
}

// number prints a figure with the given number of decimals.
func number(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// columns returns the columns of the table, with the growing parameter and the definition of efficiency in this result.
func (r *Result) columns() []column {
	list := slices.Clone(columns)
	for i := range list {
		if list[i].name == "efficiency" {
			list[i].about = "time of the first row by the time, and by how many times as many ranks there are: strong scaling"
			if r.Scale != "" {
				list[i].about = "time of the first row by the time: weak scaling"
			}
		}
	}
	if r.Scale != "" {
		list = slices.Insert(list, 2, column{r.Scale, "the parameter that grows with the ranks", func(r *Row) string {
			return strconv.FormatInt(r.Scaled, 10)
		}})
	}
	return list
}

// Head describes the predicted program and machine.
func (r *Result) Head() string {
	words := []string{r.Program}
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		words = append(words, fmt.Sprintf("%s=%d", name, r.Params[name]))
	}
	return strings.Join(words, " ") + " on " + r.Machine
}

// Notes describe the basis of the predictions.
func (r *Result) Notes() []string {
	notes := []string{"figures of " + r.Machine + ": " + r.Source}
	if uneven := r.unevenWork(); uneven != "" {
		notes = append(notes, uneven)
	}
	if r.Published {
		return append(notes, "NOT VALIDATED: "+r.Machine+
			" is described by published figures, and no prediction for it was compared with a measurement")
	}
	var beyond []string
	for _, row := range r.Rows {
		if row.Predicted > 0 && !row.Measured {
			beyond = append(beyond, strconv.Itoa(row.Ranks))
		}
	}
	if len(beyond) > 0 {
		notes = append(notes, fmt.Sprintf("NOT VALIDATED: figures of %s were measured on at most %d ranks of one node, and these are "+
			"predictions for %s",
			r.Machine, r.Measured, strings.Join(beyond, ", ")))
	}
	return notes
}

// unevenWork describes the first row, if any, whose GEMM work differs by more than 5 % from the first row's: per rank
// in weak scaling, in total in strong scaling. Efficiency then compares different problems.
func (r *Result) unevenWork() string {
	first := -1.0
	for _, row := range r.Rows {
		work := row.TFLOPs * row.Predicted
		if r.Scale == "" {
			work *= float64(row.Ranks)
		}
		if work == 0 {
			continue
		}
		if first < 0 {
			first = work
		}
		if factor := work / first; factor > 1.05 || factor < 0.95 {
			return fmt.Sprintf("at %d ranks a rank's GEMMs are %.3g times what they would be by %s scaling: TFLOP/s compares rows, efficiency "+
				"does not",
				row.Ranks, factor, r.scaling())
		}
	}
	return ""
}

// Write prints the table, the meaning of its columns, and the basis of the predictions.
func (r *Result) Write(w io.Writer) error {
	fmt.Fprintln(w, r.Head())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	shown := r.columns()
	for _, c := range shown {
		fmt.Fprint(table, c.name, "\t")
	}
	fmt.Fprintln(table)
	for _, row := range r.Rows {
		for _, cell := range row.cells(shown) {
			fmt.Fprint(table, cell, "\t")
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Refused != "" {
			fmt.Fprintf(w, "  %d ranks: %s\n", row.Ranks, row.Refused)
		}
	}
	fmt.Fprintln(w)
	for _, c := range shown {
		if c.about != "" {
			fmt.Fprintf(w, "  %-14s%s\n", c.name, c.about)
		}
	}
	for _, note := range r.Notes() {
		fmt.Fprintln(w, "  "+note)
	}
	return nil
}

// known is the number of columns of a refused row: the numbers of ranks and nodes.
const known = 2

// cells returns the values of a row for some columns.
func (r *Row) cells(shown []column) []string {
	var cells []string
	for i, c := range shown {
		cell := c.value(r)
		if r.Refused != "" && i >= known {
			cell = "-"
		}
		cells = append(cells, cell)
	}
	return cells
}
