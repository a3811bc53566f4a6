package hostir

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
)

// JSON gives a program for other tools: an object with "name" and "body" (and what
// the body names: "file", "params", "meshes", "streams", "tensors"). A statement is
// an object whose first key is "op"; For has "body", If has "body" and "else". What runs
// otherwise is such an object under "otherwise".
// Expressions are strings; the keys of each object have a fixed order.
func JSON(p *Program) ([]byte, error) {
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
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, m := range o {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		out.WriteByte(separator)
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	if len(o) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func programObject(p *Program) object {
	params := object{}
	for _, param := range p.Params {
		params = append(params, member{param.Name, param.Value})
	}
	meshes := []object{}
	for _, m := range p.Meshes {
		axes := object{}
		for _, a := range m.Axes {
			axes = append(axes, member{a.Name, a.Extent.Size})
		}
		meshes = append(meshes, object{{"name", m.Name}, {"axes", axes}, {"ranks", m.Ranks}})
	}
	tensors := []object{}
	for _, t := range p.Tensors {
		tensors = append(tensors, tensorObject(t))
	}
	o := object{
		{"name", p.Name}, {"file", p.File}, {"params", params}, {"meshes", meshes},
		{"streams", p.Streams}, {"tensors", tensors}, {"body", bodyObjects(p.Body, worldSize(p))},
	}
	if p.Otherwise != nil {
		o = append(o, member{"otherwise", programObject(p.Otherwise)})
	}
	return o
}

func tensorObject(t *Tensor) object {
	axes := []string{}
	for _, a := range t.Axes {
		axes = append(axes, a.String())
	}
	o := object{
		{"name", t.Name}, {"dtype", string(t.DType)}, {"role", t.Role.String()},
		{"axes", axes}, {"local_shape", LocalShape(t)},
	}
	if t.Mesh != nil {
		o = append(o, member{"mesh", t.Mesh.Name})
	}
	if t.Layout != nil {
		o = append(o, member{"layout", t.Layout})
	}
	if t.Tolerance != 0 {
		o = append(o, member{"tolerance", t.Tolerance})
	}
	return appendPos(o, t.Pos)
}

func appendPos(o object, pos diag.Pos) object {
	if !pos.IsValid() {
		return o
	}
	return append(o, member{"pos", pos.String()})
}

// worldSize is the number of ranks.
func worldSize(p *Program) int {
	if len(p.Meshes) == 0 {
		return 0
	}
	return p.Meshes[0].Size()
}

func bodyObjects(body []Stmt, world int) []object {
	list := make([]object, 0, len(body))
	for _, s := range body {
		list = append(list, statementObject(s, world))
	}
	return list
}

// statementObject gives op, the statement's own fields, who runs it where that is not
// every rank, position and note, bodies last.
func statementObject(s Stmt, world int) object {
	o := append(object{{"op", s.Op()}}, fields(s)...)
	if ranks := Ranks(s); ranks != nil && len(ranks) < world {
		o = append(o, member{"ranks", ranks})
	}
	o = appendPos(o, s.Meta().Pos)
	if s.Meta().Note != "" {
		o = append(o, member{"note", s.Meta().Note})
	}
	switch s := s.(type) {
	case *For:
		o = append(o, member{"body", bodyObjects(s.Body, world)})
	case *If:
		o = append(o, member{"body", bodyObjects(s.Body, world)}, member{"else", bodyObjects(s.Else, world)})
	}
	return o
}

func fields(s Stmt) object {
	switch s := s.(type) {
	case *Allocate:
		return object{{"tensor", s.Tensor.Name}, {"role", s.Tensor.Role.String()}}
	case *Delay:
		return object{{"microseconds", s.Microseconds}}
	case *Deallocate:
		return object{{"tensor", s.Tensor.Name}}
	case *GetCurrentStream:
		return object{{"stream", s.Var}}
	case *SetCurrentStream:
		return object{{"stream", s.Stream.String()}}
	case *Synchronize:
		return object{{"stream", s.Stream.String()}}
	case *For:
		if s.First != 0 {
			return object{{"var", s.Var}, {"first", s.First}, {"count", s.Count.String()}}
		}
		return object{{"var", s.Var}, {"count", s.Count.String()}}
	case *If:
		return object{{"cond", s.Cond.String()}}
	case *Communication:
		return communicationFields(s)
	case *P2PCommunication:
		kind := "recv"
		if s.Send {
			kind = "send"
		}
		return object{{"handle", s.Handle}, {"type", kind}, {"buffer", s.Buffer.Name}, {"peer", text(s.Peer)}, {"backend", string(s.Backend)}}
	case *StartCoalescing:
		return nil
	case *EndCoalescing:
		return object{{"handle", s.Handle}}
	case *Wait:
		if s.Iteration != nil {
			return object{{"handle", s.Handle}, {"iteration", s.Iteration.String()}}
		}
		return object{{"handle", s.Handle}}
	case *ShareMemHandles:
		if s.Mesh != nil {
			return object{{"mesh", s.Mesh.Name}, {"axis", s.MeshAxis}, {"communications", s.Comms}}
		}
		return object{{"communications", s.Comms}}
	default:
		return computeFields(s)
	}
}

func communicationFields(s *Communication) object {
	o := object{{"handle", s.Handle}, {"type", string(s.Type)}, {"mesh", s.Mesh.Name}, {"axis", s.MeshAxis}}
	if s.Root != nil {
		o = append(o, member{"root", text(s.Root)})
	}
	if s.ReduceFn != "" {
		o = append(o, member{"reduce", s.ReduceFn})
	}
	return append(o, member{"in", s.In.Name}, member{"out", s.Out.Name}, member{"backend", string(s.Backend)})
}

// computeFields gives "out", "in" (a list) and the attributes of what computes.
func computeFields(s Stmt) object {
	in := []string{}
	for _, t := range Uses(s) {
		in = append(in, t.Name)
	}
	o := object{{"out", Result(s).Name}, {"in", in}}
	switch s := s.(type) {
	case *Select:
		o = append(o, member{"axis", s.Axis}, member{"index", text(s.Index)})
		if s.Parts != 0 {
			o = append(o, member{"parts", s.Parts})
		}
		return o
	case *Matmul:
		return appendAddend(o, s.Addend)
	case *Linear:
		return appendAddend(o, s.Addend)
	case *Broadcast:
		return append(o, member{"axis", s.Axis})
	case *Permute:
		return append(o, member{"perm", s.Perm})
	case *Unary:
		return append(o, member{"fn", s.Fn})
	case *Binary:
		return append(o, member{"fn", s.Fn})
	case *Reduce:
		return append(o, member{"fn", s.Fn}, member{"axis", s.Axis})
	default:
		return o
	}
}

// appendAddend names the operand that a product adds to, if it does.
func appendAddend(o object, addend *Tensor) object {
	if addend == nil {
		return o
	}
	return append(o, member{"addend", addend.Name})
}

func text(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return e.String()
}
