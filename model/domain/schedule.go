package domain

import "slices"

// A ScheduleField is a field of the schedule: one of some values, or a number.
type ScheduleField struct {
	Name      string
	Values    []string // the default first; nil for a number
	Low, High int64    // of a number
	Default   int64    // of a number; 0 below Low is left open
}

// ScheduleFields lists the fields of the schedule in the order in which they are told to people. All that
// reads, checks, prints or makes up schedules takes names, values and ranges from here.
var ScheduleFields = []ScheduleField{
	{Name: "pipeline", Values: []string{"collective", "broadcast", "reduce", "p2p", "ring", "eager"}},
	{Name: "transport", Values: []string{"nccl", "ipc-get", "ipc-put", "auto"}},
	{Name: "reshard", Values: []string{"before", "after"}},
	{Name: "streams", High: 64, Default: 4},
	{Name: "sync", Values: []string{"split", "fused"}},
	{Name: "joins", Values: []string{"body", "after"}},
	{Name: "buffers", Values: []string{"keep", "free"}},
	{Name: "own", Values: []string{"in-place", "copied"}},
	{Name: "transfers", Values: []string{"inline", "ahead"}},
	{Name: "order", Values: []string{"rotation", "reverse", "pairwise", "bracket"}},
	{Name: "own_step", Values: []string{"first", "last"}},
	{Name: "chunks", Low: 1, High: 1024},
	{Name: "sums", Values: []string{"added", "folded", "direct"}},
	{Name: "pieces", Low: 1, High: 1024},
	{Name: "copy", Values: []string{"engine", "kernel", "fused"}},
	{Name: "signals", Values: []string{"single", "batched"}},
	{Name: "hosts", Values: []string{"none", "x", "y", "z"}},
	{Name: "delay", High: 1000},
	{Name: "graph", Values: []string{"false", "true"}},
	{Name: "auto", Values: []string{"false", "true"}},
}

// ScheduleFieldNamed finds a field of the schedule; there is none without a name.
func ScheduleFieldNamed(name string) (ScheduleField, bool) {
	at := slices.IndexFunc(ScheduleFields, func(f ScheduleField) bool { return f.Name == name })
	if at < 0 {
		return ScheduleField{}, false
	}
	return ScheduleFields[at], true
}

// ScheduleValues lists what a field of the schedule can be, the default first; nil for a number.
func ScheduleValues(name string) []string {
	f, _ := ScheduleFieldNamed(name)
	return f.Values
}

// IsNumber reports whether the field is a number, and not one of some values.
func (f ScheduleField) IsNumber() bool { return f.Values == nil }

// IsDefault reports whether a value is the one that the field has where a schedule leaves it out.
// It is never so for a number.
func (f ScheduleField) IsDefault(value string) bool {
	return len(f.Values) > 0 && value == f.Values[0]
}
