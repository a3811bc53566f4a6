package grad

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// width is the longest line of a comment, and column the smallest column of a comment after an operation, in
// characters.
const (
	width  = 120
	column = 52
)

// writer prints the backward pass as a spec.
type writer struct {
	*backward
	*Pass
	dtype domain.DType // of tensors without an explicit type
	lines []string
	plain bool // print Stream axes as plain axes
}

// spec prints the backward pass. It drops the schedule of the forward pass, which is about other communications. If the
// forward pass has collective pipelines and not preset auto, eager or none, and Options.Plain is not set, the backward pass
// has collective pipelines, too, and keeps the Stream axes.
func (w *writer) spec() string {
	given := &w.pipeline.Schedule
	preset := given.Get(schedule.Preset)
	w.plain = given.Get(schedule.Pipeline) != schedule.Collective || preset == schedule.Auto || given.Whole() ||
		w.options.Plain
	w.head()
	w.common(w.pipeline.Name + "_backward")
	w.tensors()
	w.add("ops:")
	w.operations()
	w.add("outputs: [" + strings.Join(append([]string{called(w.Gradients)}, w.unasked()...), ", ") + "]")
	if !w.plain {
		w.add("schedule: {pipeline: collective}")
	}
	return strings.Join(w.lines, "\n") + "\n"
}

// common prints the parts of a spec that both passes have: parameters, meshes and the usual element type.
func (w *writer) common(name string) {
	w.add("hirgen: 1", "name: "+name)
	if params := w.pipeline.Params; len(params) > 0 {
		w.add("params: {" + lists.Join(params, func(p model.Param) string {
			return p.Name + ": " + cmp.Or(p.Text, strconv.FormatInt(p.Value, 10))
		}) + "}")
	}
	w.meshes()
	w.dtype = w.pipeline.UsualDType()
	w.add("dtype: "+string(w.dtype), "tensors:")
}

func (w *writer) add(lines ...string) { w.lines = append(w.lines, lines...) }

// comment adds a comment, broken into lines.
func (w *writer) comment(indent, text string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width {
			w.add(line)
			line = indent + "#"
		}
		line += " " + word
	}
	w.add(line)
}

// head describes the spec in a comment.
func (w *writer) head() {
	text := fmt.Sprintf("The backward pass of %s: the gradients of %s, given %s", w.pipeline.Name, named(w.targets), called(w.Given))
	if len(w.Saved) > 0 {
		text += " and the results saved by the forward pass: " + named(w.Saved)
	}
	w.comment("", text+".")
	w.comment("", Origin)
	w.roles()
}

// unasked lists the results in extra, in the order of the statements. They must be outputs, because no operation reads
// them.
func (w *writer) unasked() []string {
	var list []string
	for _, s := range w.ops {
		for _, out := range s.outs {
			if slices.Contains(w.extra, out) {
				list = append(list, out)
			}
		}
	}
	return list
}

// called returns the names of gradients, with commas between them.
func called(gradients []Gradient) string {
	return lists.Join(gradients, func(g Gradient) string { return g.Name })
}

func (w *writer) meshes() {
	for i, m := range w.pipeline.Meshes {
		axes := "{" + lists.Join(m.Axes, func(a domain.MeshAxis) string { return a.Name + ": " + a.String() }) + "}"
		switch i {
		case 0:
			if w.pipeline.DeclaresMesh() { // otherwise it is one rank, or the ranks of the named meshes
				w.add("mesh: " + axes)
			}
			continue
		case 1:
			w.add("meshes:")
		}
		if ranks := w.pipeline.RanksText(m.Name); ranks != "" {
			axes += ", ranks: " + ranks
		}
		w.add("  " + m.Name + ": {axes: " + axes + "}")
	}
}

// tensors prints the declarations of the inputs, the saved tensors, the recomputed tensors that the spec declares, and the
// gradients.
func (w *writer) tensors() {
	read := reads(w.ops)
	given := section{title: "The gradients of the outputs.", back: true}
	inputs := section{title: "Inputs of the forward pass."}
	saved := section{title: "Saved by the forward pass as outputs."}
	anew := section{title: "Recomputed.", reduced: true}
	between := section{title: "Gradients of results.", back: true}
	gradients := section{title: "The gradients, each distributed like its tensor.", back: true}
	for _, g := range w.Given {
		given.add(g.Name, g.Of)
	}
	for _, t := range w.pipeline.Inputs {
		if read[t.Name] {
			inputs.add(t.Name, t)
		}
	}
	for _, t := range w.Saved {
		saved.add(t.Name, t)
	}
	for _, g := range w.Gradients {
		gradients.add(g.Name, g.Of)
	}
	for _, s := range w.ops {
		for _, out := range s.outs {
			if s.forward != nil {
				if i := slices.IndexFunc(s.forward.Out, func(t *model.Tensor) bool { return t.Name == out && t.Annotated }); i >= 0 {
					anew.add(out, s.forward.Out[i])
				}
			}
			if t := w.declared[out]; t != nil && !slices.Contains(gradients.names, out) {
				between.add(out, t)
			}
		}
	}
	w.declare(given, inputs, saved, anew, between, gradients)
}

// declare prints the declarations of tensors, each with the axes and type of its model tensor.
func (w *writer) declare(sections ...section) {
	longest := 0
	for _, s := range sections {
		for _, name := range s.names {
			longest = max(longest, len(name))
		}
	}
	for _, s := range sections {
		if len(s.names) > 0 {
			w.comment("  ", s.title)
		}
		for i, name := range s.names {
			w.add(fmt.Sprintf("  %-*s %s", longest+1, name+":", w.declaration(s.like[i], s)))
		}
	}
}

// section is a group of tensors that are declared under one comment.
type section struct {
	title   string
	names   []string
	like    []*model.Tensor // the tensors with the same axes and type, one for each name
	reduced bool            // print the reduction axes, too
	back    bool            // gradients, which have the types that typeOf returns
}

func (s *section) add(name string, t *model.Tensor) {
	s.names, s.like = append(s.names, name), append(s.like, t)
}

// declaration prints the axes of a tensor in a section, and its type and mesh if they are not the default ones.
func (w *writer) declaration(t *model.Tensor, s section) string {
	axes, dtype := w.axes(t), t.DType
	switch {
	case t.Scalar:
		axes = nil
	case s.reduced:
		axes = t.Axes
	}
	if s.back && !dtype.Computes() {
		dtype = w.dtype
	}
	text := "[" + lists.Join(axes, func(a domain.Axis) string {
		switch {
		case a.Kind == domain.Device:
			return "DID" + a.Mesh
		case w.plain && a.Kind == domain.Stream:
			return a.Extent.String()
		}
		return a.String()
	}) + "]"
	if dtype == w.dtype && t.Mesh == w.pipeline.Meshes[0] {
		return text
	}
	text = "{axes: " + text
	if dtype != w.dtype {
		text += ", dtype: " + string(dtype)
	}
	if t.Mesh != w.pipeline.Meshes[0] {
		text += ", mesh: " + t.Mesh.Name
	}
	return text + "}"
}

// operations prints the statements. Comments mark the first of adjacent statements that recompute tensors or that belong to
// one operation of the forward pass.
func (w *writer) operations() {
	var origin *model.WrittenOp
	anew := false
	for _, s := range w.ops {
		line := "  - " + strings.Join(s.outs, ", ") + " = " + s.text()
		switch {
		case s.forward != nil && !anew:
			line = fmt.Sprintf("%-*s# recomputed", column, line+" ")
		case s.forward == nil && s.origin != origin:
			line = fmt.Sprintf("%-*s# back through %s", column, line+" ", s.origin)
			origin = s.origin
		}
		anew = s.forward != nil
		w.add(line)
	}
}
