package grad

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model/schedule"
)

// forwardSpec prints the forward pass, with the saved tensors as outputs that have the distribution that the backward pass
// declares for them.
func (w *writer) forwardSpec() string {
	text := "The forward pass of " + w.pipeline.Name
	if len(w.Saved) > 0 {
		text += ", which also returns what the backward pass reads: " + named(w.Saved)
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

// schedule prints the stated choices of the forward pass, if there are any.
func (w *writer) schedule() {
	if choices := w.pipeline.Schedule.Stated(); len(choices) > 0 {
		w.add("schedule: {" + schedule.Flow(choices) + "}")
	}
}
