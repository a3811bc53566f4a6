package model

import (
	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/schedule"
)

// FormatVersion is the version of the spec format that hirgen reads: the value of "hirgen:" in a spec.
const FormatVersion = "1"

// document reads a whole spec.
func (r *yamlReader) document(n *yaml.Node) *source {
	r.out = &source{file: r.lines.file, pos: r.lines.node(n)}
	var version text
	r.fields(n, "the spec", r.sections(&version))
	r.checkVersion(n, version)
	return r.out
}

// sections returns the fields of a spec. The field hirgen is read into version.
func (r *yamlReader) sections(version *text) []field {
	return []field{
		{"hirgen", r.into(version)},
		{"name", r.into(&r.out.name)},
		{"doc", r.doc},
		{"params", r.values("params", &r.out.params)},
		{"mesh", r.world},
		{"meshes", r.meshes},
		{"dtype", r.into(&r.out.dtype)},
		{"tensors", r.tensors},
		{"ops", r.ops},
		{"outputs", r.outputs},
		{"fill", r.values("fill", &r.out.fills)},
		{"schedule", r.schedule},
	}
}

func (r *yamlReader) checkVersion(n *yaml.Node, version text) {
	switch {
	case n.Kind != yaml.MappingNode:
	case !version.given() && !r.out.incomplete:
		r.list.Add(r.out.pos, diag.MissingField, "the spec does not say which version of the format it has").
			WithHint("begin it with \"hirgen: %s\"", FormatVersion)
	case version.given() && version.value != FormatVersion:
		r.list.Add(version.pos, diag.WrongVersion, "version %q of the format is unknown", version.value).
			WithHint("this hirgen reads version %s", FormatVersion)
	}
}

func (r *yamlReader) doc(key text, n *yaml.Node) {
	var t text
	r.into(&t)(key, n)
	r.out.doc = t.value
}

// values returns a function that appends the entries of a map to a list.
func (r *yamlReader) values(what string, to *[]sourceParam) func(text, *yaml.Node) {
	return func(_ text, n *yaml.Node) {
		r.entries(n, what, func(key text, value *yaml.Node) {
			v, _ := r.scalar(value, key.value)
			*to = append(*to, sourceParam{name: key, value: v})
		})
	}
}

func (r *yamlReader) world(key text, n *yaml.Node) {
	r.out.world = &sourceMesh{pos: key.pos}
	r.meshAxes(r.out.world, n, "mesh")
}

func (r *yamlReader) meshAxes(mesh *sourceMesh, n *yaml.Node, what string) {
	r.entries(n, what, func(key text, value *yaml.Node) {
		if v, ok := r.scalar(value, key.value); ok {
			mesh.axes = append(mesh.axes, sourceMeshAxis{name: key, extent: v})
		}
	})
}

func (r *yamlReader) meshes(_ text, n *yaml.Node) {
	r.entries(n, "meshes", func(name text, value *yaml.Node) {
		mesh := &sourceMesh{name: name, pos: name.pos}
		r.fields(value, "mesh "+name.value, []field{
			{"axes", func(_ text, n *yaml.Node) { r.meshAxes(mesh, n, "axes") }},
			{"ranks", func(_ text, n *yaml.Node) { mesh.ranks = r.scalars(n, "ranks") }},
		})
		r.out.meshes = append(r.out.meshes, mesh)
	})
}

func (r *yamlReader) tensors(_ text, n *yaml.Node) {
	r.entries(n, "tensors", func(name text, value *yaml.Node) {
		t := &sourceTensor{name: name, pos: name.pos}
		switch value.Kind {
		case yaml.MappingNode:
			r.fields(value, "tensor "+name.value, []field{
				{"axes", func(_ text, n *yaml.Node) { t.axes = r.scalars(n, "axes") }},
				{"dtype", r.into(&t.dtype)},
				{"mesh", r.into(&t.mesh)},
			})
		case yaml.SequenceNode:
			t.axes = r.scalars(value, name.value)
		default:
			r.wrongType(value, "tensor "+name.value, "a list of axes or a map")
			return
		}
		r.out.tensors = append(r.out.tensors, t)
	})
}

func (r *yamlReader) ops(_ text, n *yaml.Node) {
	torn := false // the items are pieces of an operation that the commas of a list in brackets have divided
	r.items(n, "ops", func(item *yaml.Node) {
		var op *sourceOp
		switch {
		case torn:
			return
		case item.Kind == yaml.MappingNode:
			op = r.opMap(item)
		case item.Kind == yaml.ScalarNode && item.Tag != "!!null":
			var d *diag.Diagnostic
			if op, d = parseOp(r.lines.text(item), r.list); d != nil && n.Style == yaml.FlowStyle && d.Message == unclosedOp {
				d.WithHint("between brackets a comma ends the operation: quote it, or write one operation a line")
				torn = true
			}
		default:
			r.wrongType(item, "an operation", "text such as \"C = matmul(A, B)\"")
		}
		if op == nil {
			r.out.incomplete = true
			return
		}
		r.out.ops = append(r.out.ops, op)
	})
}

// opMap reads the map form of an operation, which tools write: {out: B, op: permute, in: [A], perm: [1, 0]}. It returns
// nil after it has reported that op or out is missing.
func (r *yamlReader) opMap(n *yaml.Node) *sourceOp {
	op := &sourceOp{pos: r.lines.node(n)}
	r.entries(n, "the operation", func(key text, value *yaml.Node) {
		switch key.value {
		case "op":
			r.into(&op.fn)(key, value)
		case "out":
			if value.Kind != yaml.SequenceNode {
				r.into(&op.out)(key, value)
			} else if outs := r.scalars(value, "out"); len(outs) > 0 {
				op.out, op.more = outs[0], outs[1:]
			}
		case "in":
			op.args = r.scalars(value, "in")
		default:
			attr := sourceAttr{name: key, list: value.Kind == yaml.SequenceNode}
			if attr.list {
				attr.values = r.scalars(value, key.value)
			} else if v, ok := r.scalar(value, key.value); ok {
				attr.values = []text{v}
			}
			op.attrs = append(op.attrs, attr)
		}
	})
	for _, f := range []struct {
		name  string
		value text
	}{{"op", op.fn}, {"out", op.out}} {
		if !f.value.given() {
			r.list.Add(op.pos, diag.MissingField, "the operation has no field %q", f.name).
				WithHint("an operation is {out: C, op: matmul, in: [A, B]} or \"C = matmul(A, B)\"")
			return nil
		}
	}
	return op
}

func (r *yamlReader) outputs(_ text, n *yaml.Node) {
	r.out.outputs = r.scalars(n, "outputs")
}

// schedule reads a map of choices, which may have a separate map for each communication, or only a preset: eager is short
// for {preset: eager}.
func (r *yamlReader) schedule(key text, n *yaml.Node) {
	r.out.scheduled = true
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		name := text{value: schedule.Preset, pos: key.pos}
		r.out.schedule = []sourceField{{name: name, value: r.lines.text(n)}}
		return
	}
	r.entries(n, "schedule", func(key text, value *yaml.Node) {
		if value.Kind == yaml.MappingNode {
			r.communication(key, value)
		} else if v, ok := r.scalar(value, key.value); ok {
			r.out.schedule = append(r.out.schedule, sourceField{name: key, value: v})
		}
	})
}

// communication reads the choices of one communication, or of all.
func (r *yamlReader) communication(of text, n *yaml.Node) {
	r.entries(n, "schedule."+of.value, func(key text, value *yaml.Node) {
		if v, ok := r.scalar(value, key.value); ok {
			r.out.schedule = append(r.out.schedule, sourceField{of: of, name: key, value: v})
		}
	})
}
