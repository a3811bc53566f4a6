package lowering

import (
	_ "embed" // the table of measurements
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// problem is what a schedule is chosen by: an operation and its size on one GPU.
type problem struct {
	operation string // "ag_matmul", "matmul_rs", "matmul_ar", "allgather"
	dtype     domain.DType
	ranks     int64 // that exchange slices
	m, n, k   int64 // of the product of one GPU; an allgather makes m rows of k elements, and n is 1
	rows      int64 // of one rank's slice, which chunks may cut; not in the table, as is kept
	kept      bool  // the parts of the sum are needed as they are
}

// String says the operation and its size: "ag_matmul 8192 x 8192 x 8192, bf16, 4 ranks".
func (p problem) String() string {
	size := fmt.Sprintf("%d x %d x %d", p.m, p.n, p.k)
	if p.operation == "allgather" {
		size = fmt.Sprintf("%d x %d", p.m, p.k)
	}
	return fmt.Sprintf("%s %s, %s, %d ranks", p.operation, size, p.dtype, p.ranks)
}

// distance is how far two problems of one operation are apart: the sum of the squares of the
// doublings from one to the other, in each size.
func (p problem) distance(other problem) float64 {
	sum := 0.0
	for _, pair := range [][2]int64{
		{p.m, other.m}, {p.n, other.n}, {p.k, other.k}, {p.ranks, other.ranks}, {p.dtype.Size(), other.dtype.Size()},
	} {
		doublings := math.Log2(float64(pair[0]) / float64(pair[1]))
		sum += doublings * doublings
	}
	return sum
}

// measurement is a line of the table: the schedule that was fastest for a problem.
type measurement struct {
	problem
	us       float64     // of a call
	choices  [][2]string // name and value of what is not the default
	schedule string      // the choices as text
}

// time prints the time of a call.
func (m measurement) time() string {
	if m.us < 1000 {
		return fmt.Sprintf("%.1f us", m.us)
	}
	return fmt.Sprintf("%.2f ms", m.us/1000)
}

// cuts are the choices that say how slices are cut, which go together.
var cuts = []string{"chunks", "pieces"}

// set makes the choices of a measurement, but for those that are given.
func (m measurement) set(p *hostir.Program, given []string) {
	if slices.ContainsFunc(given, func(name string) bool { return slices.Contains(cuts, name) }) {
		given = slices.Concat(given, cuts)
	}
	for _, choice := range m.choices {
		if !slices.Contains(given, choice[0]) {
			p.Set(choice[0], choice[1])
		}
	}
}

// fits reports whether a problem can have the schedule of a measurement: its pipeline where one
// is asked for, and its chunks, which are a divisor of the slices, or without pieces a multiple that
// cuts each into equally many rows, as pieces do. A ring takes multiples alone, and sums where the
// parts are.
func (m measurement) fits(p problem, pipeline string) bool {
	made := hostir.Program{}
	m.set(&made, nil)
	chunks := int64(made.Choices.Chunks)
	switch pieces := int64(made.Choices.Pieces); {
	case pieces > 0 && (p.rows%pieces != 0 || chunks > 0 && p.ranks%chunks != 0):
		return false
	case pipeline != "" && pipeline != made.Choices.Pipeline:
		return false
	case made.Choices.Pipeline == "ring" && p.kept:
		return false
	case chunks == 0 || p.ranks%chunks == 0 && made.Choices.Pipeline != "ring":
		return true
	}
	return chunks%p.ranks == 0 && p.rows%(chunks/p.ranks) == 0
}

// measuredText has a line for each measurement, the columns apart by tabs. It is written by
// scripts/bench_gpu/table_of.py from the benchmark's JSON.
//
//go:embed measured_schedules.tsv
var measuredText string

// measured is the table. A mistake in it is one in this repository.
var measured = func() []measurement {
	list, err := parseMeasurements(measuredText)
	if err != nil {
		panic("lowering: measured_schedules.tsv: " + err.Error())
	}
	return list
}()

// nearest is the measurement of the same operation that is closest in size and fits, with a
// given pipeline or "" for any: the first one of several, nil if there is none.
func nearest(list []measurement, p problem, pipeline string) *measurement {
	var found *measurement
	for i := range list {
		m := &list[i]
		if m.operation == p.operation && m.fits(p, pipeline) && (found == nil || m.distance(p) < found.distance(p)) {
			found = m
		}
	}
	return found
}

const measurementColumns = "operation\tdtype\tranks\tm\tn\tk\tus\tschedule"

// parseMeasurements reads the table: comments, the titles of the columns, the lines.
func parseMeasurements(text string) ([]measurement, error) {
	var list []measurement
	seenTitles := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case !seenTitles:
			if line != measurementColumns {
				return nil, fmt.Errorf("the columns are %q, not %q", line, measurementColumns)
			}
			seenTitles = true
		default:
			m, err := parseMeasurement(strings.Split(line, "\t"))
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			list = append(list, m)
		}
	}
	return list, nil
}

// parseMeasurement reads a line, column by column.
func parseMeasurement(fields []string) (measurement, error) {
	if want := strings.Count(measurementColumns, "\t") + 1; len(fields) != want {
		return measurement{}, fmt.Errorf("%d columns, not %d", len(fields), want)
	}
	m := measurement{problem: problem{operation: fields[0], dtype: domain.DType(fields[1])}, schedule: fields[7]}
	if !slices.Contains(domain.DTypes, m.dtype) {
		return m, fmt.Errorf("there is no element type %q", m.dtype)
	}
	for i, size := range []*int64{&m.ranks, &m.m, &m.n, &m.k} {
		n, err := strconv.ParseInt(fields[2+i], 10, 64)
		if err != nil || n < 1 {
			return m, fmt.Errorf("%q is no size", fields[2+i])
		}
		*size = n
	}
	us, err := strconv.ParseFloat(fields[6], 64)
	if err != nil {
		return m, fmt.Errorf("%q is no time: %w", fields[6], err)
	}
	m.us = us
	for choice := range strings.SplitSeq(m.schedule, ", ") {
		name, value, _ := strings.Cut(choice, " ")
		if !(&hostir.Program{}).Set(name, value) {
			return m, fmt.Errorf("%q is no choice", choice)
		}
		m.choices = append(m.choices, [2]string{name, value})
	}
	return m, nil
}
