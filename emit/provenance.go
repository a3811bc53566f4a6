package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// summary describes the program in lines: the first comment of its spec, its operations, tensors, communications and
// schedule.
func (f *form) summary() []string {
	lines := slices.Concat(firstComment(f.spec), indented(f.view.Operations), []string{""})
	for _, t := range slices.Concat(f.calls.Tensors, f.calls.Declared) {
		lines = append(lines, fmt.Sprintf("  %s %s %s", t.Name, axesOf(&t, t.Axes), t.Type.Row().Alias()))
	}
	about := f.sizes()
	for _, text := range []string{f.legend(), f.views()} {
		if text != "" {
			about = append(about, text)
		}
	}
	if len(about) > 0 {
		lines = append(append(lines, ""), about...)
	}
	lines = append(lines, "")
	for _, text := range capped(f.calls.Derived, 8) {
		lines = append(lines, "Derived: "+text+".")
	}
	lines = append(lines, "Schedule: "+f.calls.Schedule+".")
	if f.calls.Auto != "" {
		lines = append(lines, "Chosen by auto: "+f.calls.Auto+".")
	}
	if len(f.calls.Given) > 0 {
		lines = append(lines, "Given in the spec: "+strings.Join(f.calls.Given, ", ")+".")
	}
	return lines
}

// firstComment returns the text of the comment at the beginning of a spec and an empty line, or nothing.
func firstComment(spec []byte) []string {
	var words []string
	for line := range strings.Lines(string(spec)) {
		text, comment := strings.CutPrefix(line, "#")
		if !comment {
			break
		}
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "yaml-language-server:") { // a line for editors
			words = append(words, text)
		}
	}
	text := commentWord(strings.Join(words, " "))
	if text == "" {
		return nil
	}
	return []string{text, ""}
}

// sizes returns a line with the parameters and the axes of the meshes, or nil if there are none.
func (f *form) sizes() []string {
	var parts []string
	values := f.calls.Values()
	for _, p := range f.calls.Params {
		name := p.Name
		if definition := values.Definition(p); definition != nil {
			name += " = " + expr.Compact(definition)
		}
		parts = append(parts, fmt.Sprintf("%s = %d", name, p.Value))
	}
	for _, m := range f.calls.Meshes {
		name := "mesh "
		if len(f.calls.Meshes) > 1 {
			name += m.Label + ": "
		}
		parts = append(parts, name+m.Axes)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{strings.Join(parts, ", ") + "."}
}

// notations explain the kinds of axes that shapes spell differently from their extents.
var notations = map[domain.Kind]string{
	domain.Device: "%s: one of %s parts per rank.", domain.Stream: "%s: %s slices, one per iteration.",
	domain.Broadcast: "%s: %s for any number.", domain.Reduction: "%s: an axis of %s, removed by a reduction.",
}

// legend explains the notations of axes that occur in the shapes of tensors. It also explains loops over ranks, whose
// number of iterations is the extent of a mesh axis.
func (f *form) legend() string {
	var list []string
	for _, t := range slices.Concat(f.calls.Tensors, f.calls.Declared) {
		for _, a := range t.Axes {
			if words := notations[a.Kind]; words != "" {
				list = append(list, fmt.Sprintf(words, a, a.Extent))
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, extent := range f.calls.Meshes[0].Extents {
		line := fmt.Sprintf("Loops over %s: one step per rank.", extent)
		if f.loopsOver(extent.String()) && !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return strings.Join(list, " ")
}

// views explains operations that only index memory differently, if the program has some.
func (f *form) views() string {
	var kinds []string
	for _, op := range f.calls.Operations {
		switch {
		case strings.Contains(op.Whole, " = split("):
			kinds = append(kinds, "split")
		case slices.Contains([]string{"broadcast", "permute", "reshape", "slice"}, op.Kind):
			kinds = append(kinds, op.Kind)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	slices.Sort(kinds)
	return "Views, which move nothing unless a copy is below: " + strings.Join(slices.Compact(kinds), ", ") + "."
}

// loopsOver reports whether a loop with extent or extent + 1 iterations computes a rank from its loop variable.
func (f *form) loopsOver(extent string) bool {
	for loop := range calls.Each[*calls.For](f.calls.Body) {
		count, _, _ := strings.Cut(loop.Count.String(), " + ")
		if count == extent && calls.Any(loop.Body, func(s calls.Stmt) bool {
			let, ok := s.(*calls.Let)
			return ok && expr.Mentions(let.Value, "rank") && expr.Mentions(let.Value, loop.Var)
		}) {
			return true
		}
	}
	return false
}

// description returns at most three operations and the number of the others in one line, for CMake.
func (f *form) description() string {
	return commentWord(strings.Join(f.operations(3), "; "))
}

// operations returns the operations of the program as the spec writes them. If there are more than most, it returns the
// first ones and a line with the number of the others.
func (f *form) operations(most int) []string {
	ops := lists.Map(f.calls.Operations, func(op domain.Operation) string { return cmp.Or(op.Whole, op.String()) })
	return capped(slices.Compact(ops), most)
}

// capped returns the lines. If there are more than most, it keeps the first ones and adds a line with the number of the others.
func capped(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}

func indented(lines []string) []string {
	return lists.Map(lines, func(line string) string { return "  " + line })
}
