package schedules

import (
	_ "embed" // the table of measurements
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// problem is an operation with its size on one GPU, for which a schedule is chosen.
type problem struct {
	operation string // "ag_matmul", "matmul_rs", "matmul_ar", "allgather"
	dtype     domain.DType
	ranks     int64 // number of ranks that exchange slices
	m, n, k   int64 // size of the GEMM on one GPU; for an allgather, m rows of k elements in the result, and n is 1
	rows      int64 // rows of one rank's slice, which splits have to divide; like kept, not in the table
	kept      bool  // the program reads the parts of the sum after the sum
}

// String formats the operation and its size: "ag_matmul 8192 x 8192 x 8192, bf16, 4 ranks".
func (p problem) String() string {
	size := fmt.Sprintf("%d x %d x %d", p.m, p.n, p.k)
	if p.operation == "allgather" {
		size = fmt.Sprintf("%d x %d", p.m, p.k)
	}
	return fmt.Sprintf("%s %s, %s, %d ranks", p.operation, size, p.dtype, p.ranks)
}

// distance measures how different two problems of one operation are. It is the sum of the squares of the base-2
// logarithms of five ratios: of m, n, k, the numbers of ranks, and the bytes of an element.
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
	us       float64           // microseconds per call
	choices  []schedule.Choice // fields that differ from the default
	schedule string            // the fields as text
}

// time formats the time of a call.
func (m measurement) time() string {
	if m.us < 1000 {
		return fmt.Sprintf("%.1f us", m.us)
	}
	return fmt.Sprintf("%.2f ms", m.us/1000)
}

// cuts are the fields that decide how shards are split. set applies all cuts of a measurement, or none.
var cuts = []string{schedule.Split, schedule.Block, schedule.Interchange}

// set sets the fields of a measurement in a schedule. Fields that the schedule already has stay, except the preset. If
// it already has one of cuts, set does not set the others.
func (m measurement) set(s *schedule.Schedule) {
	given := slices.Clone(s.Choices)
	cut := slices.ContainsFunc(given, func(c schedule.Choice) bool { return slices.Contains(cuts, c.Field) })
	for _, c := range m.choices {
		has := slices.ContainsFunc(given, func(g schedule.Choice) bool { return g.Path() == c.Path() })
		if c.Field == schedule.Preset || !has && (!cut || !slices.Contains(cuts, c.Field)) {
			s.Put(c)
		}
	}
}

// fits reports whether a problem can have the schedule of a measurement together with the fields that the spec sets
// (asked). A pipeline that the spec sets has to be the measurement's, and excludes preset: eager. A split has to divide
// the rows of each shard. A ring overwrites the parts of a sum, so the program may not read them afterwards. The
// communications of the problem have to allow every other field.
func (m measurement) fits(p problem, asked schedule.Schedule) bool {
	made, own := schedule.Schedule{Choices: asked.Choices}, schedule.Schedule{Choices: m.choices}
	m.set(&made)
	pipeline, isAsked := asked.Given("", schedule.Pipeline)
	switch {
	case isAsked && (pipeline.Value != own.Get(schedule.Pipeline) || own.Get(schedule.Preset) == schedule.Eager):
		return false
	case p.rows%schedule.Number(made.Of("", schedule.Split)) != 0:
		return false
	case made.Of("", schedule.Steps) == schedule.Ring && p.kept:
		return false
	}
	return !slices.ContainsFunc(made.Choices, func(c schedule.Choice) bool {
		_, isAsked := asked.Given(c.Of, c.Field)
		return c.Of != "" && !p.takes(c, &made, isAsked)
	})
}

// takes reports whether the communications of a problem can have a schedule field. A field that the spec sets has to
// apply to at least one of them.
func (p problem) takes(choice schedule.Choice, in *schedule.Schedule, asked bool) bool {
	applies := !asked
	for _, kind := range communicationsOf[p.operation] {
		f := &schedule.Facts{Kind: kind, Ranks: p.ranks, InLoop: in.Exchanges(), P2P: in.Exchanges(), Schedule: in, Summed: kind != "allgather" ||
			p.operation == "matmul_ar"}
		if kind != "allgather" {
			f.Sum, f.Function = true, "sum"
		}
		switch why := f.Check(choice); {
		case why == nil:
			applies = true
		case !why.Inapplicable:
			return false
		}
	}
	return applies
}

// communicationsOf lists the communications of each measured operation.
var communicationsOf = map[string][]string{
	"allgather": {"allgather"}, "ag_matmul": {"allgather"}, "matmul_rs": {"reducescatter"}, "matmul_ar": {"reducescatter", "allgather"},
}

// measuredText is the table of measurements: comments, a line with the titles of the columns, and one line for each
// measurement, with columns separated by tabs. scripts/bench_gpu/table_of.py writes it from the JSON of the benchmark.
//
//go:embed measured_schedules.tsv
var measuredText string

// measured is the parsed table. It panics if the embedded table is not valid.
var measured = func() []measurement {
	list, err := parseMeasurements(measuredText)
	if err != nil {
		panic("lowering: measured_schedules.tsv: " + err.Error())
	}
	return list
}()

// nearest returns the measurement of the same operation with the smallest distance, among those that fit together with
// the fields in asked. It returns the first of equally close ones, or nil if there is none.
func nearest(list []measurement, p problem, asked schedule.Schedule) *measurement {
	var found *measurement
	for i := range list {
		m := &list[i]
		if m.operation == p.operation && m.fits(p, asked) && (found == nil || m.distance(p) < found.distance(p)) {
			found = m
		}
	}
	return found
}

const measurementColumns = "operation\tdtype\tranks\tm\tn\tk\tus\tschedule"

// parseMeasurements parses the table: comments, the titles of the columns, and the measurements.
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

// parseMeasurement parses the columns of one measurement.
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
	m.choices, err = parseChoices(m.schedule)
	return m, err
}

// parseChoices parses a schedule as the table writes it: "pipeline p2p, all.via ipc-put".
func parseChoices(text string) ([]schedule.Choice, error) {
	var choices []schedule.Choice
	for choice := range strings.SplitSeq(text, ", ") {
		path, value, _ := strings.Cut(choice, " ")
		of, name := schedule.SplitPath(path)
		if f, ok := schedule.Named(name); !ok || (f.Scope == schedule.Program) != (of == "") || !f.Can(value) {
			return nil, fmt.Errorf("%q is no choice", choice)
		}
		choices = append(choices, schedule.Choice{Of: of, Field: name, Value: value})
	}
	return choices, nil
}
