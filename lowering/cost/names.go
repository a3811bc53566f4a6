package cost

import "github.com/hirgen/hirgen/lowering/hostir"

// namer tells what the emitted program calls statements in errors and traces.
type namer struct {
	// roots has, for each view, the memory that it is a part of: a flag is that of the memory.
	roots map[*hostir.Tensor]*hostir.Tensor
}

func newNamer(p *hostir.Program) namer {
	from, makes := map[*hostir.Tensor]*hostir.Tensor{}, hostir.ViewMakers(p.Body)
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		if makes[s] {
			from[hostir.Result(s)] = hostir.Uses(s)[0]
		}
		return true
	})
	n := namer{map[*hostir.Tensor]*hostir.Tensor{}}
	for t := range from {
		root := t
		for from[root] != nil {
			root = from[root]
		}
		n.roots[t] = root
	}
	return n
}

// of is the name of a statement: "Matmul of C_s", "gather: Allgather of A_s", "Synchronize(caller)".
func (n namer) of(s hostir.Stmt) string {
	if s, ok := s.(*hostir.P2PCommunication); ok && s.Owns() {
		if root := n.roots[s.Buffer]; root != nil {
			return transferName(s, root)
		}
	}
	return nameOf(s)
}

// nameOf is of for all other statements.
func nameOf(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.Communication:
		return s.Handle + ": " + string(s.Type) + " of " + s.In.Name
	case *hostir.P2PCommunication:
		return transferName(s, s.Buffer)
	case *hostir.EndCoalescing:
		return s.Handle + ": group"
	case *hostir.Wait:
		return "Wait(" + s.Handle + ")"
	case *hostir.Synchronize:
		return "Synchronize(" + s.Stream.String() + ")"
	case *hostir.Fused:
		return s.Kernel + " of " + s.Out.Name
	case *hostir.Matmul:
		if s.Addend != nil {
			return "Matmul of " + s.Out.Name + ", added to what is there"
		}
	case *hostir.Linear:
		if s.Addend != nil {
			return "Linear of " + s.Out.Name + ", added to what is there"
		}
	}
	if out := hostir.Result(s); out != nil {
		return s.Op() + " of " + out.Name
	}
	return s.Op()
}

func transferName(s *hostir.P2PCommunication, buffer *hostir.Tensor) string {
	if s.Send {
		return s.Handle + ": send of " + buffer.Name
	}
	return s.Handle + ": receive of " + buffer.Name
}
