package grad

import (
	"slices"
	"strings"
)

// forwardSpec prints the forward pass. The tensors that the backward pass reads are outputs, distributed as it reads
// them.
func (w *writer) forwardSpec() string {
	text := "The forward pass of " + w.pipeline.Name
	if len(w.Saved) > 0 {
		text += ", with what the backward pass reads of it as outputs: " + named(w.Saved)
	}
	w.comment("", text+".")
	w.comment("", Origin)
	w.common(w.pipeline.Name)
	var declared, saved section
	saved.title, declared.title, declared.reduced = "Saved for the backward pass.", "As in the forward pass.", true
	for _, t := range w.pipeline.Tensors {
		if t.Annotated {
			declared.add(t.Name, t)
		}
	}
	outputs := slices.Clone(w.pipeline.Outputs)
	for _, t := range w.Saved {
		if !t.Annotated {
			saved.add(t.Name, t)
		}
		if !slices.Contains(outputs, t) {
			outputs = append(outputs, t)
		}
	}
	w.declare(declared, saved)
	w.add("ops:")
	for _, op := range w.pipeline.Written {
		whole := *op
		whole.Out = w.results(op)
		if more, ok := w.more[op]; ok && !slices.Contains(w.Saved, more) {
			whole.Out = op.Out
		}
		w.add("  - " + whole.String())
	}
	w.add("outputs: [" + named(outputs) + "]")
	w.schedule()
	return strings.Join(w.lines, "\n") + "\n"
}

// schedule prints the choices of the forward pass.
func (w *writer) schedule() {
	choices := w.pipeline.Schedule.Stated()
	if len(choices) == 0 {
		return
	}
	var fields, of []string
	own := map[string][]string{}
	for _, c := range choices {
		if c.Of == "" {
			fields = append(fields, c.Field+": "+c.Value)
			continue
		}
		if own[c.Of] == nil {
			of = append(of, c.Of)
		}
		own[c.Of] = append(own[c.Of], c.Field+": "+c.Value)
	}
	for _, name := range of {
		fields = append(fields, name+": {"+strings.Join(own[name], ", ")+"}")
	}
	w.add("schedule: {" + strings.Join(fields, ", ") + "}")
}
