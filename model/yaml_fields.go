package model

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// yamlReader turns nodes into a source. It only checks the structure: which fields exist, and which contain text, a
// list or a map.
type yamlReader struct {
	list  *diag.List
	lines *lineTable
	out   *source
}

// field is a known field and the function that reads its value.
type field struct {
	name string
	read func(key text, value *yaml.Node)
}

// fields reads a map with known fields. what names the map in messages.
func (r *yamlReader) fields(n *yaml.Node, what string, known []field) {
	r.entries(n, what, func(key text, value *yaml.Node) {
		for _, f := range known {
			if f.name == key.value {
				f.read(key, value)
				return
			}
		}
		r.out.incomplete = true
		d := r.list.Add(key.pos, diag.UnknownField, "%s has no field %q", what, key.value)
		names := lists.Map(known, func(f field) string { return f.name })
		hintNearest(d, key.value, names)
	})
}

// entries calls each for the keys of a map and their values. It reports keys that are duplicates or not text.
func (r *yamlReader) entries(n *yaml.Node, what string, each func(key text, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrongType(n, what, "a map (name: value)")
		return
	}
	seen := map[string]text{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode {
			r.wrongType(n.Content[i], "a key of "+what, "text")
			continue
		}
		key := r.lines.text(n.Content[i])
		if first, ok := seen[key.value]; ok {
			r.list.Add(key.pos, diag.DuplicateKey, "%s has %q twice", what, key.value).
				AddNote(first.pos, "%q is here first", key.value)
			continue
		}
		seen[key.value] = key
		each(key, n.Content[i+1])
	}
}

// items calls each for every element of a list.
func (r *yamlReader) items(n *yaml.Node, what string, each func(item *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.wrongType(n, what, "a list")
		return
	}
	for _, item := range n.Content {
		each(item)
	}
}

// scalar reads a scalar as text. It returns false after it has reported another type or an empty value.
func (r *yamlReader) scalar(n *yaml.Node, what string) (text, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.wrongType(n, what, "one value")
		return text{}, false
	}
	return r.lines.text(n), true
}

// scalars reads a list of scalars.
func (r *yamlReader) scalars(n *yaml.Node, what string) []text {
	texts := []text{}
	r.items(n, what, func(item *yaml.Node) {
		if t, ok := r.scalar(item, "an element of "+what); ok {
			texts = append(texts, t)
		}
	})
	return texts
}

// into returns a function that reads a scalar field into target.
func (r *yamlReader) into(target *text) func(key text, value *yaml.Node) {
	return func(key text, value *yaml.Node) {
		if t, ok := r.scalar(value, key.value); ok {
			*target = t
		}
	}
}

func (r *yamlReader) wrongType(n *yaml.Node, what, want string) {
	r.out.incomplete = true
	have := map[yaml.Kind]string{yaml.MappingNode: "a map", yaml.SequenceNode: "a list", yaml.ScalarNode: "one value"}[n.Kind]
	if n.Tag == "!!null" {
		have = "nothing"
	}
	r.list.Add(r.lines.node(n), diag.WrongType, "%s is %s, not %s", what, have, want)
}

// maxListed limits the candidates that a hint lists: enough for all fields of a schedule, but not for all parameters
// of a large spec.
const maxListed = 40

// hintNearest hints at a candidate that is close to word, or lists all candidates if there are at most maxListed.
func hintNearest(d *diag.Diagnostic, word string, candidates []string) {
	if nearestHint(d, word, candidates) {
		return
	}
	if len(candidates) > 0 && len(candidates) <= maxListed {
		d.WithHint("known here: %s", strings.Join(candidates, ", "))
	}
}
