package hostir

import "github.com/hirgen/hirgen/internal/expr"

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
	case *SumLoans:
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
		return loopFields(s)
	case *If:
		return object{{"cond", s.Cond.String()}}
	case *Communication:
		return communicationFields(s)
	case *P2PCommunication:
		return p2pFields(s)
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
		return sharedFields(s)
	default:
		return computeFields(s)
	}
}

func loopFields(s *For) object {
	if s.First == 0 {
		return object{{"var", s.Var}, {"count", s.Count.String()}}
	}
	return object{{"var", s.Var}, {"first", s.First}, {"count", s.Count.String()}}
}

func sharedFields(s *ShareMemHandles) object {
	if s.Mesh == nil {
		return object{{"communications", s.Comms}}
	}
	return object{{"mesh", s.Mesh.Name}, {"axis", s.MeshAxis}, {"communications", s.Comms}}
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

func p2pFields(s *P2PCommunication) object {
	kind := "recv"
	if s.Send {
		kind = "send"
	}
	o := object{{"handle", s.Handle}, {"type", kind}, {"buffer", s.Buffer.Name}, {"peer", text(s.Peer)}, {"backend", string(s.Backend)}}
	if s.Reach != Anywhere {
		o = append(o, member{"reach", string(s.Reach)})
	}
	return o
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
		return appendProduct(o, s.Addend, s.OneRow)
	case *Linear:
		return appendProduct(o, s.Addend, s.OneRow)
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

// appendProduct names the operand that a product adds to, if it does, and says that its batches are
// rows.
func appendProduct(o object, addend *Tensor, oneRow bool) object {
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
