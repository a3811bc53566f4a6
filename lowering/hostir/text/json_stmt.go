package text

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

func bodyObjects(body []hostir.Stmt, world int) []object {
	list := make([]object, 0, len(body))
	for _, s := range body {
		list = append(list, statementObject(s, world))
	}
	return list
}

// statementObject gives op, the statement's own fields, who runs it where that is not
// every rank, position and note, bodies last.
func statementObject(s hostir.Stmt, world int) object {
	o := append(object{{"op", s.Op()}}, fields(s)...)
	if _, sets := s.(*setCurrentStream); sets {
		return appendPos(o, s.Meta().Pos)
	}
	if ranks := hostir.Ranks(s); ranks != nil && len(ranks) < world {
		o = append(o, member{"ranks", ranks})
	}
	o = appendPos(o, s.Meta().Pos)
	if s.Meta().Note != "" {
		o = append(o, member{"note", s.Meta().Note})
	}
	switch s := s.(type) {
	case *hostir.For:
		o = append(o, member{"body", bodyObjects(s.Body, world)})
	case *hostir.PeerReadSum:
		o = append(o, member{"body", bodyObjects(s.Body, world)})
	case *hostir.If:
		o = append(o, member{"body", bodyObjects(s.Body, world)}, member{"else", bodyObjects(s.Else, world)})
	}
	return o
}

func fields(s hostir.Stmt) object {
	switch s := s.(type) {
	case *hostir.Allocate:
		return object{{"tensor", s.Tensor.Name}, {"role", s.Tensor.Role.String()}}
	case *hostir.Delay:
		return object{{"microseconds", s.Microseconds}}
	case *hostir.Deallocate:
		return object{{"tensor", s.Tensor.Name}}
	case *hostir.GetCurrentStream:
		return object{{"stream", hostir.Caller}}
	case *setCurrentStream:
		return object{{"stream", s.Stream.String()}}
	case *hostir.Synchronize:
		return object{{"stream", s.Stream.String()}}
	case *hostir.For:
		return loopFields(s)
	case *hostir.If:
		return object{{"cond", s.Cond.String()}}
	case *hostir.Communication:
		return communicationFields(s)
	case *hostir.P2PCommunication:
		return p2pFields(s)
	case *hostir.StartCoalescing:
		return nil
	case *hostir.EndCoalescing:
		return object{{"handle", s.Handle}}
	case *hostir.Wait:
		if s.Iteration != nil {
			return object{{"handle", s.Handle}, {"iteration", s.Iteration.String()}}
		}
		return object{{"handle", s.Handle}}
	case *hostir.ShareMemHandles:
		return sharedFields(s)
	default:
		return computeFields(s)
	}
}

func loopFields(s *hostir.For) object {
	if s.First == 0 {
		return object{{"var", s.Var}, {"count", s.Count.String()}}
	}
	return object{{"var", s.Var}, {"first", s.First}, {"count", s.Count.String()}}
}

func sharedFields(s *hostir.ShareMemHandles) object {
	if s.Mesh == nil {
		return object{{"communications", s.Comms}}
	}
	return object{{"mesh", s.Mesh.Name}, {"axis", s.MeshAxis}, {"communications", s.Comms}}
}

func communicationFields(s *hostir.Communication) object {
	o := object{{"handle", s.Handle}, {"type", string(s.Type)}, {"mesh", s.Mesh.Name}, {"axis", s.MeshAxis}}
	if s.Root != nil {
		o = append(o, member{"root", text(s.Root)})
	}
	if s.ReduceFn != "" {
		o = append(o, member{"reduce", s.ReduceFn})
	}
	o = append(o, member{"in", s.In.Name}, member{"out", s.Out.Name}, member{"backend", string(s.Backend)})
	return appendOfMember(o, s.Of)
}

func p2pFields(s *hostir.P2PCommunication) object {
	kind := "recv"
	if s.Send {
		kind = "send"
	}
	o := object{{"handle", s.Handle}, {"type", kind}, {"buffer", s.Buffer.Name}, {"peer", text(s.Peer)}, {"backend", string(s.Backend)}}
	if s.Locality != hostir.AnyNode {
		o = append(o, member{"locality", string(s.Locality)})
	}
	return appendOfMember(o, s.Of)
}

func appendOfMember(o object, of string) object {
	if of == "" {
		return o
	}
	return append(o, member{"of", of})
}

// computeFields gives "out", "in" (a list) and the attributes of what computes.
func computeFields(s hostir.Stmt) object {
	in := []string{}
	for _, t := range hostir.Uses(s) {
		in = append(in, t.Name)
	}
	o := object{{"out", hostir.Result(s).Name}, {"in", in}}
	switch s := s.(type) {
	case *hostir.Select:
		o = append(o, member{"axis", s.Axis}, member{"index", text(s.Index)})
		if s.Parts != 0 {
			o = append(o, member{"parts", s.Parts})
		}
		return o
	case *hostir.Matmul:
		return appendProduct(o, s.Addend, s.OneRow)
	case *hostir.Linear:
		return appendProduct(o, s.Addend, s.OneRow)
	case *hostir.Broadcast:
		return append(o, member{"axis", s.Axis})
	case *hostir.Permute:
		return append(o, member{"perm", s.Perm})
	case *hostir.Slice:
		return append(o, member{"axis", s.Axis}, member{"start", s.Start.String()})
	case *hostir.Concat:
		return append(o, member{"axis", s.Axis})
	case *hostir.Unary:
		return append(o, member{"fn", s.Fn})
	case *hostir.Binary:
		return append(o, member{"fn", s.Fn})
	case *hostir.Fused:
		return append(o, member{"kernel", s.Kernel}, member{"names", s.Names}, member{"steps", fusedSteps(s)})
	case *hostir.Reduce:
		return append(o, member{"fn", s.Fn}, member{"axis", s.Axis})
	default:
		return o
	}
}

// fusedSteps lists what a kernel computes: name, function and, by name, what it reads.
func fusedSteps(s *hostir.Fused) []object {
	names, steps := slices.Clone(s.Names), make([]object, len(s.Body))
	for i, step := range s.Body {
		args := make([]string, len(step.Args))
		for k, at := range step.Args {
			args[k] = names[at]
		}
		steps[i] = object{{"name", step.Name}, {"fn", step.Fn}, {"in", args}}
		names = append(names, step.Name)
	}
	return steps
}

// appendProduct names the operand that a product adds to, if it does, and says that its batches are
// rows.
func appendProduct(o object, addend *hostir.Tensor, oneRow bool) object {
	if addend != nil {
		o = append(o, member{"addend", addend.Name})
	}
	if oneRow {
		o = append(o, member{"rows", 1})
	}
	return o
}

func text(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return e.String()
}
