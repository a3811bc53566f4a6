// Package schedule has the choices that change the speed of a program, but not its results, apart from rounding. Its table,
// Fields, defines each field once: name, scope, values, default, conditions and documentation. The loader, the Go builder,
// the command line, the host IR, the random specs of the soak test and docs/spec.md all use that table.
package schedule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// All is the name that stands for every communication without a choice by its own name.
const All = "all"

// A Choice gives one field a value.
type Choice struct {
	Of    string // a communication, or All; empty for a field of the whole program
	Field string
	Value string   // a number is in decimal
	Pos   diag.Pos // of the value; only the file if a Setting made the choice; zero if hirgen made it
}

// Path names the field of a choice, as in messages and on the command line: "streams", "all.via".
func (c Choice) Path() string { return Path(c.Of, c.Field) }

// Path names a field of a communication, as in "all.via", or of the program if the communication (of) is empty.
func Path(of, field string) string {
	if of == "" {
		return field
	}
	return of + "." + field
}

// String prints the choice as errors quote it: "all.via: ipc-get".
func (c Choice) String() string { return c.Path() + ": " + c.Value }

// Flow prints choices as the flow map of a spec, without its braces: "pipeline: p2p, all: {via: ipc-get}". Each
// communication has its own map.
func Flow(choices []Choice) string {
	var fields, of []string
	own := map[string][]string{}
	for _, c := range choices {
		field := c.Field + ": " + c.Value
		if c.Of == "" {
			fields = append(fields, field)
			continue
		}
		if own[c.Of] == nil {
			of = append(of, c.Of)
		}
		own[c.Of] = append(own[c.Of], field)
	}
	for _, name := range of {
		fields = append(fields, name+": {"+strings.Join(own[name], ", ")+"}")
	}
	return strings.Join(fields, ", ")
}

// A Schedule is a list of choices, in order. Other fields have the default of the table.
type Schedule struct {
	Choices []Choice
}

// Given finds the choice for exactly this field. For a communication, it ignores the choice for All. It returns false
// if there is none.
func (s *Schedule) Given(of, field string) (Choice, bool) {
	at := slices.IndexFunc(s.Choices, func(c Choice) bool { return c.Of == of && c.Field == field })
	if at < 0 {
		return Choice{}, false
	}
	return s.Choices[at], true
}

// Get returns the value of a field of the program.
func (s *Schedule) Get(field string) string {
	if c, ok := s.Given("", field); ok {
		return c.Value
	}
	return s.usual(field)
}

// Of returns the value of a field for a communication: by name, or else from All, or else the default.
func (s *Schedule) Of(communication, field string) string {
	if c, ok := s.Chosen(communication, field); ok {
		return c.Value
	}
	return s.usual(field)
}

// Chosen finds the choice for a field of a communication: by name, or else from All. It returns false if there is none.
func (s *Schedule) Chosen(communication, field string) (Choice, bool) {
	if c, ok := s.Given(communication, field); ok && communication != "" {
		return c, true
	}
	return s.Given(All, field)
}

// usual returns the default of a field under the preset of the schedule.
func (s *Schedule) usual(field string) string {
	f, ok := Named(field)
	if !ok {
		panic("schedule: no field " + field)
	}
	preset, _ := s.Given("", Preset)
	switch {
	case preset.Value == Reference && f.UnderReference != "":
		return f.UnderReference
	case preset.Value == None && field == Streams:
		return "0"
	}
	return f.Default
}

// Number parses a value as a number. It returns 0 for an open value and for a named value.
func Number(value string) int64 {
	n, _ := strconv.ParseInt(value, 10, 64) // 0 if value is not a number
	return n
}

// Any reports whether some communication may have a value for a field: from All, by name, or by default.
func (s *Schedule) Any(field, value string) bool {
	return s.Of("", field) == value ||
		slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.Of != "" && c.Field == field && c.Value == value })
}

// Chooses reports whether any choice was made for a field.
func (s *Schedule) Chooses(field string) bool {
	return slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.Field == field })
}

// Names reports whether the schedule has a choice for a communication by its name.
func (s *Schedule) Names(communication string) bool {
	return slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.Of == communication && c.Of != "" && c.Of != All })
}

// Set makes a choice without a position, which marks a choice of hirgen. It replaces an earlier choice for the same field.
func (s *Schedule) Set(of, field, value string) {
	s.Put(Choice{Of: of, Field: field, Value: value})
}

// Put makes a choice. It replaces an earlier choice for the same field.
func (s *Schedule) Put(c Choice) {
	s.Choices = slices.Clone(s.Choices) // schedules are copied as values, so another one may share the list
	if at := slices.IndexFunc(s.Choices, func(o Choice) bool { return o.Of == c.Of && o.Field == c.Field }); at >= 0 {
		s.Choices[at] = c
		return
	}
	s.Choices = append(s.Choices, c)
}

// Unset removes all choices for a field.
func (s *Schedule) Unset(field string) {
	s.Choices = lists.Except(s.Choices, func(c Choice) bool { return c.Field == field })
}

// Stated returns the choices with a position, which a spec, a builder or a command-line option has made, and not hirgen.
func (s *Schedule) Stated() []Choice {
	return lists.Except(s.Choices, func(c Choice) bool { return c.Pos == diag.Pos{} })
}

// LeaveTransportOpen sets transport: auto, so that a program chooses its transport when it starts, because CUDA IPC is
// not available everywhere. It does nothing if the preset is not auto, or if the schedule chooses a transport or a pipeline
// other than p2p.
func (s *Schedule) LeaveTransportOpen() {
	pipeline, chosen := s.Given("", Pipeline)
	if s.Get(Preset) == Auto && !s.Chooses(Transport) && (!chosen || pipeline.Value == P2P) {
		s.Set("", Transport, Auto)
	}
}

// Whole reports whether the program has no slices: Stream axes are plain axes.
func (s *Schedule) Whole() bool {
	preset := s.Get(Preset)
	return preset == Eager || preset == None
}

// Exchanges reports whether shards go from rank to rank in the pipelines of the schedule.
func (s *Schedule) Exchanges() bool { return s.Get(Pipeline) == P2P && !s.Whole() }

// SplitPath splits a path such as "all.via" into the communication and the field. The communication is empty for a
// field of the program.
func SplitPath(path string) (of, field string) {
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		return path[:at], path[at+1:]
	}
	return "", path
}
