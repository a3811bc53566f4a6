package bench

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// A Result is all rows of a run.
type Result struct {
	About string `json:"about,omitempty"` // introduction of the HTML page, in sentences
	Rows  []Row  `json:"rows"`
}

// Read reads a file that Save wrote. It returns an error if the file is not the JSON of a Result, has no rows, or has a row
// with an unknown status.
func Read(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not a result of hirgen bench: %w", path, err)
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s is not a result of hirgen bench: it has no rows", path)
	}
	for i, row := range r.Rows {
		if !slices.Contains([]Status{OK, Wrong, Waived, Failed}, row.Status) {
			return nil, fmt.Errorf("%s is not a result of hirgen bench: the status of row %d is %q", path, i+1, row.Status)
		}
	}
	return &r, nil
}

// Save writes the result as JSON. On an error the old file stays unchanged.
func (r *Result) Save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return replace(path, append(text, '\n'))
}

// replace replaces a file atomically: it writes a new file in the same folder and renames it.
func replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".bench-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// Kept returns the row of the same program with the same label, number of ranks and device, if its status is OK.
func (r *Result) Kept(row Row) (Row, bool) {
	for _, old := range r.Rows {
		if old.Digest == row.Digest && old.Ranks == row.Ranks && old.Device == row.Device && old.Label == row.Label && old.Status == OK {
			return old, true
		}
	}
	return Row{}, false
}

// KeptPeers returns the rows of peers of the same problem.
func (r *Result) KeptPeers(row Row) []Row {
	var list []Row
	for _, old := range r.Rows {
		if old.Peer && old.Problem() == row.Problem() {
			list = append(list, old)
		}
	}
	return list
}

// A column is one figure of the table and of the CSV file: its heading, its explanation, and its text for a row.
type column struct {
	name, about string
	value       func(*Row) string
}

// columns lists the columns with figures. A dash means that a value is not known.
var columns = []column{
	{"median us", "of a call, on the slowest rank", func(r *Row) string { return number(r.Median, 1) }},
	{"p10", "of the repeats", func(r *Row) string { return number(r.P10, 1) }},
	{"p90", "of the repeats", func(r *Row) string { return number(r.P90, 1) }},
	{"TFLOP/s", "of a GPU", func(r *Row) string { return significant(r.TFLOPs()) }},
	{"GEMMs", "time of the GEMMs, each whole and alone / time of the call", func(r *Row) string { return number(r.OfProducts(), 2) }},
	{"bound", "time of all GEMMs or all communications, the longer one / time of the call: 1 is perfect overlap", func(r *Row) string {
		return number(r.OfBound(), 2)
	}},
	{"predicted", "predicted time / measured time", func(r *Row) string { return number(r.OfPrediction(), 2) }},
	{"exposed us", "time beyond the GEMMs: exposed communication, and other kernels", func(r *Row) string {
		return number(r.Exposed(), 1)
	}},
	{"#wrong", "wrong elements; - if nothing was checked", func(r *Row) string {
		if !r.Peer && !r.Unchecked && (r.Status == OK || r.Status == Wrong) {
			return strconv.FormatInt(r.Wrongs, 10)
		}
		return "-"
	}},
	{"speedup over baseline", "time of the baseline / this time; ~: the difference is within the spread", func(r *Row) string {
		return number(r.Against, 3) + r.Unsure
	}},
	{"best peer", "time of the fastest peer / this time", func(r *Row) string { return number(r.AgainstPeer, 3) }},
}

func number(x float64, digits int) string {
	if x == 0 {
		return "-"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Text prints the rows as tables, one for each problem, and explains their columns.
func (r *Result) Text(w io.Writer) error {
	shown := r.shown()
	for _, problem := range r.problems() {
		fmt.Fprintln(w, problem[0].Problem())
		if err := printTable(w, problem, shown); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, c := range shown {
		fmt.Fprintf(w, "  %-23s%s\n", c.name, c.about)
	}
	return nil
}

// shown returns the columns that have a value in at least one row.
func (r *Result) shown() []column {
	return lists.Except(columns, func(c column) bool {
		return !slices.ContainsFunc(r.Rows, func(row Row) bool { return c.value(&row) != "-" })
	})
}

// problems groups the rows that are compared with each other, in the order of their first rows, and calls doubt.
func (r *Result) problems() [][]Row {
	at := map[string]int{}
	var list [][]Row
	for _, row := range r.Rows {
		i, known := at[row.Problem()]
		if !known {
			i = len(list)
			at[row.Problem()] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], row)
	}
	for _, rows := range list {
		doubt(rows)
	}
	return list
}

// doubt marks the rows of a problem whose difference to the baseline is within the spread of the repeats (see Bought).
func doubt(rows []Row) {
	for _, base := range rows {
		for i := range rows {
			row := &rows[i]
			if _, beyond := Bought(*row, base); base.Baseline && !row.Baseline && row.Against > 0 && !beyond {
				row.Unsure = " ~"
			}
		}
	}
}

// printTable prints the rows of a problem. Below them it prints which differences are within the spread, and why rows
// were not measured or ran without cuDNN.
func printTable(w io.Writer, rows []Row, shown []column) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "  case\tstatus")
	for _, c := range shown {
		fmt.Fprint(table, "\t", c.name)
	}
	fmt.Fprintln(table)
	for _, row := range rows {
		fmt.Fprintf(table, "  %s\t%s", row.caseName(), row.Status)
		for _, c := range shown {
			fmt.Fprint(table, "\t", c.value(&row))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Unsure != "" {
			fmt.Fprintf(w, "  %s: the difference from the baseline is within the spread of the times; measure more --rounds\n", row.caseName())
		}
		if row.Reason != "" {
			fmt.Fprintf(w, "  %s: %s\n", row.caseName(), row.Reason)
		}
		if row.Tiled != "" {
			fmt.Fprintf(w, "  %s: attention by hirgen's own kernels, which take longer than cuDNN: %s\n", row.caseName(), row.Tiled)
		}
	}
	return nil
}

// Problem names the program and its parameters, or the group, with the number of ranks and the device. Rows of the same
// problem are compared with each other.
func (r *Row) Problem() string {
	words := []string{cmp.Or(r.Group, r.Name, r.Spec)}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if r.Group == "" {
			words = append(words, fmt.Sprintf("%s=%d", name, r.Values[name]))
		}
	}
	if where := r.place(); where != "" {
		words = append(words, where)
	}
	return strings.Join(words, " ")
}

func (r *Row) caseName() string {
	if r.Label == "" {
		return "as written"
	}
	return r.Label
}

// CSV prints a line of column names and then a line for each row.
func (r *Result) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	names := []string{"spec", "program", "parameters", "case", "ranks", "device", "status", "reason"}
	for _, c := range columns {
		names = append(names, c.name)
	}
	if err := out.Write(names); err != nil {
		return err
	}
	for _, row := range r.Rows {
		var params []string
		for _, name := range slices.Sorted(maps.Keys(row.Values)) {
			params = append(params, fmt.Sprintf("%s=%d", name, row.Values[name]))
		}
		fields := []string{
			row.Spec, row.Name, strings.Join(params, " "), row.Label, strconv.Itoa(row.Ranks), row.Device, string(row.Status), row.Reason,
		}
		for _, c := range columns {
			value := c.value(&row)
			if value == "-" {
				value = ""
			}
			fields = append(fields, value)
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// significant prints three significant digits without trailing zeros, and all digits before the decimal point. It uses no
// exponent.
func significant(x float64) string {
	if x == 0 {
		return "-"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', max(3, len(strconv.Itoa(int(x)))), 64), 64)
	if err != nil {
		rounded = x
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
