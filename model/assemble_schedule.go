package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// A choice is a field of the schedule that is one of some values.
type choice struct {
	name string
	set  func(*Schedule, string)
}

// values lists what the field can be, the default first.
func (c choice) values() []string { return domain.ScheduleValues(c.name) }

var choices = []choice{
	{"pipeline", func(s *Schedule, v string) { s.Pipeline = v }},
	{"transport", func(s *Schedule, v string) { s.Transport = v }},
	{"reshard", func(s *Schedule, v string) { s.Reshard = v }},
	{"sync", func(s *Schedule, v string) { s.Sync = v }},
	{"joins", func(s *Schedule, v string) { s.Joins = v }},
	{"buffers", func(s *Schedule, v string) { s.Buffers = v }},
	{"own", func(s *Schedule, v string) { s.Own = v }},
	{"transfers", func(s *Schedule, v string) { s.Transfers = v }},
	{"order", func(s *Schedule, v string) { s.Order = v }},
	{"own_step", func(s *Schedule, v string) { s.OwnStep = v }},
	{"sums", func(s *Schedule, v string) { s.Sums = v }},
	{"copy", func(s *Schedule, v string) { s.Copy = v }},
	{"signals", func(s *Schedule, v string) { s.Signals = v }},
	{"hosts", func(s *Schedule, v string) { s.Hosts = v }},
	{"graph", func(s *Schedule, v string) { s.Graph = v == "true" }},
	{"auto", func(s *Schedule, v string) { s.Auto = v == "true" }},
}

// A count is a field of the schedule that is a number.
type count struct {
	name    string
	code    diag.Code
	message string // for a number out of range; takes that and the highest
	of      func(*Schedule) *int
}

// field is the range and the default.
func (c count) field() domain.ScheduleField {
	f, _ := domain.ScheduleFieldNamed(c.name)
	return f
}

var counts = []count{
	{"streams", diag.BadStreams, "%d worker streams are not possible; there are 0 to %d", func(s *Schedule) *int { return &s.Streams }},
	{"chunks", diag.BadChoice, "%d chunks are not possible; there are 1 to %d", func(s *Schedule) *int { return &s.Chunks }},
	{"pieces", diag.BadChoice, "%d pieces are not possible; there are 1 to %d", func(s *Schedule) *int { return &s.Pieces }},
	{"delay", diag.BadChoice, "a delay of %d microseconds is not possible; it is 0 to %d", func(s *Schedule) *int { return &s.Delay }},
}

// DefaultSchedule is the schedule of a spec that says nothing about it.
func DefaultSchedule() Schedule {
	var s Schedule
	for _, c := range choices {
		c.set(&s, c.values()[0])
	}
	for _, c := range counts {
		*c.of(&s) = int(c.field().Default)
	}
	return s
}

// schedule reads the fields of the schedule.
func (a *assembler) schedule() {
	a.p.Schedule = DefaultSchedule()
	var names []string
	for _, c := range counts {
		names = append(names, c.name)
	}
	for _, c := range choices {
		names = append(names, c.name)
	}
	first := map[string]diag.Pos{} // a spec has a field once, a builder may get it again
	for i, f := range a.src.schedule {
		if i == 0 {
			a.p.Schedule.Pos = f.name.pos
		}
		if pos, twice := first[f.name.value]; twice {
			a.list.Add(f.name.pos, diag.DuplicateKey, "schedule has %q twice", f.name.value).AddNote(pos, "%q is here first", f.name.value)
			continue
		}
		first[f.name.value] = f.name.pos
		if at := slices.IndexFunc(counts, func(c count) bool { return c.name == f.name.value }); at >= 0 {
			a.count(f.value, counts[at])
		} else {
			a.choice(f, names)
		}
	}
	if a.p.Schedule.Auto {
		a.p.Schedule.Given = a.given(names)
	}
}

// count reads a field that is a number.
func (a *assembler) count(t text, c count) {
	n, ok := a.eval(t)
	if !ok {
		return
	}
	if f := c.field(); n.value < f.Low || n.value > f.High {
		a.list.Add(t.pos, c.code, c.message, n.value, f.High)
		return
	}
	*c.of(&a.p.Schedule) = int(n.value)
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
	if !slices.Contains(c.values(), f.value.value) {
		hintNearest(a.list.Add(f.value.pos, diag.BadChoice, "%s cannot be %q", c.name, f.value.value), f.value.value, c.values())
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
