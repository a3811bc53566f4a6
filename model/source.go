package model

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/schedule"
)

// source is a pipeline as its author wrote it, in YAML or in Go. Names and expressions are still text, with their
// positions. The assembler checks it and turns it into a Pipeline.
type source struct {
	file     string
	pos      diag.Pos // the position of errors about missing parts
	name     text
	doc      string
	dtype    text
	params   []sourceParam
	world    *sourceMesh
	meshes   []*sourceMesh
	tensors  []*sourceTensor
	ops      []*sourceOp
	outputs  []text
	fills    []sourceParam // values of inputs in checks
	schedule []sourceField
	// scheduled is true if the source has a schedule, even an empty one.
	scheduled bool
	// incomplete marks a spec with parts that could not be read. Missing or unused names may be in those parts, so
	// they are not reported.
	incomplete bool
}

// text is a piece of the author's text with its position. The zero text stands for a value that is not given.
type text struct {
	value string
	pos   diag.Pos
	// place maps a byte offset of value to its position; nil if value has no inner positions, as in a Go builder.
	place func(offset int) diag.Pos
}

// at returns the position of the byte at offset.
func (t text) at(offset int) diag.Pos {
	if t.place == nil {
		return t.pos
	}
	return t.place(offset)
}

// slice returns the part of t between two offsets, with its positions.
func (t text) slice(from, to int) text {
	part := text{value: t.value[from:to], pos: t.at(from)}
	if t.place != nil {
		part.place = func(offset int) diag.Pos { return t.place(from + offset) }
	}
	return part
}

// given reports whether the author wrote a value.
func (t text) given() bool { return t.pos.IsValid() || t.value != "" }

type sourceParam struct {
	name  text
	value text
}

type sourceMesh struct {
	name  text // empty for the world mesh
	axes  []sourceMeshAxis
	ranks []text // nil: 0, 1, 2, ...
	pos   diag.Pos
}

type sourceMeshAxis struct {
	name   text
	extent text
}

type sourceTensor struct {
	name  text
	axes  []text
	dtype text
	mesh  text
	pos   diag.Pos
}

type sourceOp struct {
	fn    text
	out   text
	more  []text // additional results
	args  []text
	attrs []sourceAttr
	pos   diag.Pos
	whole string // the composite that it is a part of, as in Op.Whole
}

// sourceAttr is an attribute of an operation: one value, or a list in brackets.
type sourceAttr struct {
	name   text
	values []text
	list   bool
}

// results lists the names of all results.
func (o *sourceOp) results() []text { return append([]text{o.out}, o.more...) }

// text returns a value at the position of the operation.
func (o *sourceOp) text(value string) text { return text{value: value, pos: o.pos} }

// attr returns the named attribute, or nil.
func (o *sourceOp) attr(name string) *sourceAttr {
	for i := range o.attrs {
		if o.attrs[i].name.value == name {
			return &o.attrs[i]
		}
	}
	return nil
}

// sourceField is a field of the schedule with its value.
type sourceField struct {
	of    text // the communication that it is for, or all; not given for a field of the program
	name  text
	value text
}

// Setting replaces one choice of a spec's schedule. Path is spelled as by schedule.Choice.Path: "streams", "all.via".
// An empty path replaces the whole schedule, by a preset, or with Defaults by the default of every field.
type Setting struct{ Path, Value string }

// Defaults is the value of a setting without a path that clears the spec's schedule, so that each field has its
// default.
const Defaults = "{}"

// set applies a setting: it replaces the schedule, or replaces or adds a field.
func (s *source) set(setting Setting) {
	place := func(value string) text { return text{value: value, pos: diag.Pos{File: s.file}} }
	s.scheduled = true
	switch {
	case setting == Setting{Value: Defaults}:
		s.schedule = nil
		return
	case setting.Path == "":
		s.schedule = []sourceField{{name: place(schedule.Preset), value: place(setting.Value)}}
		return
	}
	of, field := schedule.SplitPath(setting.Path)
	for i, f := range s.schedule {
		if f.of.value == of && f.name.value == field {
			s.schedule[i].value = place(setting.Value)
			return
		}
	}
	f := sourceField{name: place(field), value: place(setting.Value)}
	if of != "" {
		f.of = place(of)
	}
	s.schedule = append(s.schedule, f)
}
