package cost

import "github.com/hirgen/hirgen/lowering/hostir"

// nameOf returns the name of a statement in errors and traces of the emitted program: "Matmul of C_s",
// "gather: Allgather of A_s", "Synchronize(caller)". A transfer that sets a ready flag is named after the
// buffer, not after the view.
func nameOf(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.Communication:
		return s.Handle + ": " + string(s.Type) + " of " + s.In.Name
	case *hostir.P2PCommunication:
		if s.Owns() {
			return transferName(s, hostir.Buffers(s.Buffer)[0])
		}
		return transferName(s, s.Buffer)
	case *hostir.EndCoalescing:
		return s.Handle + ": group"
	case *hostir.Wait:
		return "Wait(" + s.Handle + ")"
	case *hostir.Synchronize:
		return "Synchronize(" + s.Stream.String() + ")"
	case *hostir.Fused:
		return s.Kernel + " of " + s.Out[0].Name
	}
	out := hostir.Result(s)
	if out == nil {
		return hostir.Op(s)
	}
	name := hostir.Op(s) + " of " + out.Name
	if hostir.Addend(s) != nil {
		name += ", added to what is there"
	}
	if fn := hostir.Epilogue(s); fn != "" {
		name += ", then " + fn
	}
	return name
}

func transferName(s *hostir.P2PCommunication, buffer *hostir.Tensor) string {
	if s.Send {
		return s.Handle + ": send of " + buffer.Name
	}
	return s.Handle + ": receive of " + buffer.Name
}
