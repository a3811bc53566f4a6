package text

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// JSON returns a program for other tools. It is an object with "name", "file", "params", "meshes", "streams", "choices",
// "tensors" and "body". "choices" has the fields of the schedule with their values; fields of communications are under "all" or a
// name. If passes choose fields by size, "auto" lists the fields that were "given" and the "basis" of the others. A statement is
// an object whose first key is "op". For and PeerReadSum have "body", If has "body" and "else". If there is a fallback variant,
// "fallback" contains it as such an object. Expressions are strings. The keys of each object have a fixed order.
func JSON(p *hostir.Program) ([]byte, error) {
	compact, err := json.Marshal(programObject(p))
	if err != nil {
		return nil, fmt.Errorf("host IR as JSON: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("host IR as JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	Key   string
	Value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	list := make(schedule.Object, len(o))
	for i, m := range o {
		list[i] = schedule.Member(m)
	}
	return list.MarshalJSON()
}

func programObject(p *hostir.Program) object {
	params := object{}
	for _, param := range p.Params {
		params = append(params, member{param.Name, param.Value})
	}
	meshes := []object{}
	for _, m := range p.Meshes {
		axes := object{}
		for _, a := range m.Axes {
			axes = append(axes, member{a.Name, a.Size})
		}
		meshes = append(meshes, object{{"name", m.Name}, {"axes", axes}, {"ranks", m.Ranks}})
	}
	tensors := []object{}
	for _, t := range p.Tensors {
		tensors = append(tensors, tensorObject(t))
	}
	o := object{
		{"name", p.Name}, {"file", p.File}, {"params", params}, {"meshes", meshes},
		{"streams", p.Streams}, {"choices", choicesObject(p.Choices)},
	}
	if p.Auto != nil {
		o = append(o, member{"auto", object{{"given", append([]string{}, p.Auto.Given...)}, {"basis", p.Auto.Basis}}})
	}
	o = append(o, member{"tensors", tensors}, member{"body", bodyObjects(written(p.Body), worldSize(p))})
	if p.Fallback != nil {
		o = append(o, member{"fallback", programObject(p.Fallback)})
	}
	return o
}

func tensorObject(t *hostir.Tensor) object {
	axes := []string{}
	for _, a := range t.Axes {
		axes = append(axes, a.String())
	}
	o := object{
		{"name", t.Name}, {"dtype", string(t.DType)}, {"role", t.Role.String()},
		{"axes", axes}, {"local_shape", hostir.LocalShape(t)},
	}
	if t.Mesh != nil {
		o = append(o, member{"mesh", t.Mesh.Name})
	}
	if t.Layout != nil {
		o = append(o, member{"layout", t.Layout})
	}
	if t.Absent != nil {
		o = append(o, member{"absent", t.Absent})
	}
	if t.Fill != "" {
		o = append(o, member{"fill", t.Fill})
	}
	if t.Rounded {
		o = append(o, member{"rounded", true})
	}
	return appendPos(o, t.Pos)
}

func appendPos(o object, pos diag.Pos) object {
	if !pos.IsValid() {
		return o
	}
	return append(o, member{"pos", pos.String()})
}

// worldSize returns the number of ranks.
func worldSize(p *hostir.Program) int {
	if len(p.Meshes) == 0 {
		return 0
	}
	return p.Meshes[0].Size()
}
