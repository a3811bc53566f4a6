package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// A choice is a field of the schedule with its values; the first one is the default.
type choice struct {
	name   string
	values []string
	set    func(*Schedule, string)
}

var choices = []choice{
	{"pipeline", []string{"collective", "broadcast", "reduce", "p2p", "ring", "eager"}, func(s *Schedule, v string) { s.Pipeline = v }},
	{"transport", []string{"nccl", "ipc-get", "ipc-put", "auto"}, func(s *Schedule, v string) { s.Transport = v }},
	{"reshard", []string{"before", "after"}, func(s *Schedule, v string) { s.Reshard = v }},
	{"sync", []string{"split", "fused"}, func(s *Schedule, v string) { s.Sync = v }},
	{"joins", []string{"body", "after"}, func(s *Schedule, v string) { s.Joins = v }},
	{"buffers", []string{"keep", "free"}, func(s *Schedule, v string) { s.Buffers = v }},
	{"own", []string{"in-place", "copied"}, func(s *Schedule, v string) { s.Own = v }},
	{"transfers", []string{"inline", "ahead"}, func(s *Schedule, v string) { s.Transfers = v }},
	{"order", []string{"rotation", "reverse", "pairwise"}, func(s *Schedule, v string) { s.Order = v }},
	{"own_step", []string{"first", "last"}, func(s *Schedule, v string) { s.OwnStep = v }},
	{"sums", []string{"added", "folded"}, func(s *Schedule, v string) { s.Sums = v }},
	{"copy", []string{"engine", "kernel", "fused"}, func(s *Schedule, v string) { s.Copy = v }},
	{"signals", []string{"single", "batched"}, func(s *Schedule, v string) { s.Signals = v }},
	{"hosts", []string{"none", "x", "y", "z"}, func(s *Schedule, v string) { s.Hosts = v }},
	{"graph", []string{"false", "true"}, func(s *Schedule, v string) { s.Graph = v == "true" }},
	{"auto", []string{"false", "true"}, func(s *Schedule, v string) { s.Auto = v == "true" }},
}

const (
	defaultStreams = 4
	maxStreams     = 64
	maxChunks      = 1024 // and pieces
	maxDelay       = 1000
)

// DefaultSchedule is the schedule of a spec that says nothing about it.
func DefaultSchedule() Schedule {
	s := Schedule{Streams: defaultStreams}
	for _, c := range choices {
		c.set(&s, c.values[0])
	}
	return s
}

// schedule reads the fields of the schedule.
func (a *assembler) schedule() {
	a.p.Schedule = DefaultSchedule()
	names := []string{"streams", "chunks", "pieces", "delay"}
	for _, c := range choices {
		names = append(names, c.name)
	}
	for i, f := range a.src.schedule {
		if i == 0 {
			a.p.Schedule.Pos = f.name.pos
		}
		switch f.name.value {
		case "streams":
			a.streams(f.value)
		case "chunks":
			a.cuts(f, &a.p.Schedule.Chunks)
		case "pieces":
			a.cuts(f, &a.p.Schedule.Pieces)
		case "delay":
			a.delay(f.value)
		default:
			a.choice(f, names)
		}
	}
	if a.p.Schedule.Auto {
		a.p.Schedule.Given = a.given(names)
	}
}

// choice reads a field that is one of some values. names are those of all fields, for a hint.
func (a *assembler) choice(f sourceField, names []string) {
	at := slices.IndexFunc(choices, func(c choice) bool { return c.name == f.name.value })
	if at < 0 {
		d := a.list.Add(f.name.pos, diag.UnknownField, "the schedule has no field %q", f.name.value)
		hintNearest(d, f.name.value, names)
		return
	}
	c := choices[at]
	if !slices.Contains(c.values, f.value.value) {
		hintNearest(a.list.Add(f.value.pos, diag.BadChoice, "%s cannot be %q", c.name, f.value.value), f.value.value, c.values)
		return
	}
	c.set(&a.p.Schedule, f.value.value)
	if c.name == "hosts" {
		a.hosts(f.value)
	}
}

// hosts complains of an axis between hosts that no mesh has.
func (a *assembler) hosts(axis text) {
	has := func(m *domain.Mesh) bool { return m.Axis(axis.value) != nil }
	if axis.value != "none" && len(a.p.Meshes) > 0 && !slices.ContainsFunc(a.p.Meshes, has) {
		a.list.Add(axis.pos, diag.BadChoice, "hosts cannot be %q: no mesh has such an axis", axis.value)
	}
}

// given lists the fields of the schedule that the spec sets, of all in their order.
func (a *assembler) given(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		isName := func(f sourceField) bool { return f.name.value == name }
		return name == "auto" || !slices.ContainsFunc(a.src.schedule, isName)
	})
}

func (a *assembler) streams(t text) {
	n, ok := a.eval(t)
	if !ok {
		return
	}
	if n.value < 0 || n.value > maxStreams {
		a.list.Add(t.pos, diag.BadStreams, "%d worker streams are not possible; there are 0 to %d", n.value, maxStreams)
		return
	}
	a.p.Schedule.Streams = int(n.value)
}

// cuts reads how many chunks or pieces something is cut into.
func (a *assembler) cuts(f sourceField, into *int) {
	n, ok := a.eval(f.value)
	if !ok {
		return
	}
	if n.value < 1 || n.value > maxChunks {
		a.list.Add(f.value.pos, diag.BadChoice, "%d %s are not possible; there are 1 to %d", n.value, f.name.value, maxChunks)
		return
	}
	*into = int(n.value)
}

// delay reads for how many microseconds the second stream of a pipeline idles.
func (a *assembler) delay(t text) {
	n, ok := a.eval(t)
	if !ok {
		return
	}
	if n.value < 0 || n.value > maxDelay {
		a.list.Add(t.pos, diag.BadChoice, "a delay of %d microseconds is not possible; it is 0 to %d", n.value, maxDelay)
		return
	}
	a.p.Schedule.Delay = int(n.value)
}
