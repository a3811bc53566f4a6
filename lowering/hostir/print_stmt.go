package hostir

import (
	"fmt"
	"strconv"
	"strings"
)

// FormatStmt is the text of one statement without its body, position and note:
// "A_s = Select(A, axis 0, index s)", "For s in S:".
func FormatStmt(s Stmt) string { return head(s) }

// head is a statement's text without its body, position and note.
func head(s Stmt) string {
	switch s := s.(type) {
	case *Allocate:
		return s.Tensor.Name + " = Allocate"
	case *Delay:
		return call("Delay", strconv.FormatInt(s.Microseconds, 10))
	case *Deallocate:
		return call("Deallocate", s.Tensor.Name)
	case *GetCurrentStream:
		return s.Var + " = GetCurrentStream"
	case *SetCurrentStream:
		return call("SetCurrentStream", s.Stream.String())
	case *Synchronize:
		return call("Synchronize", s.Stream.String())
	case *For:
		return fmt.Sprintf("For %s in %s:", s.Var, rangeOf(s))
	case *If:
		return fmt.Sprintf("If %s:", s.Cond)
	case *SumLoans:
		return s.Out.Name + " = " + call(s.Op(), s.In.Name) + ":"
	case *StartCoalescing:
		return "StartCoalescing"
	case *EndCoalescing:
		return s.Handle + " = EndCoalescing"
	case *Wait:
		if s.Iteration != nil {
			return call("Wait", s.Handle, "iteration "+s.Iteration.String())
		}
		return call("Wait", s.Handle)
	case *ShareMemHandles:
		return call("ShareMemHandles", sharedArgs(s)...)
	case *Communication:
		return s.Handle + " = " + call("Communication", communicationArgs(s)...)
	case *P2PCommunication:
		return s.Handle + " = " + call("P2PCommunication", p2pArgs(s)...)
	default:
		return computeHead(s)
	}
}

// sharedArgs names the team, unless it is all ranks, and what is shared.
func sharedArgs(s *ShareMemHandles) []string {
	if s.Mesh == nil {
		return s.Comms
	}
	return append([]string{"mesh " + s.Mesh.Name + " axis " + s.MeshAxis}, s.Comms...)
}

// rangeOf prints what a loop runs over: "S", or "1..S" where it leaves out iteration 0.
func rangeOf(s *For) string {
	if s.First == 0 {
		return s.Count.String()
	}
	return fmt.Sprintf("%d..%s", s.First, s.Count)
}

// computeHead prints the statements that read "out = Op(operands, attributes)".
func computeHead(s Stmt) string {
	var out *Tensor
	var args []string
	switch s := s.(type) {
	case *Select:
		out, args = s.Out, []string{s.In.Name, fmt.Sprintf("axis %d", s.Axis), "index " + s.Index.String()}
		if s.Parts != 0 {
			args = append(args, fmt.Sprintf("parts %d", s.Parts))
		}
	case *Set:
		out, args = s.Out, names(s.In)
	case *Matmul:
		out, args = s.Out, append(names(s.A, s.B), productArgs(s.Addend, s.OneRow)...)
	case *Linear:
		out, args = s.Out, append(names(s.X, s.W, s.Bias), productArgs(s.Addend, s.OneRow)...)
	case *Broadcast:
		out, args = s.Out, append(names(s.In), fmt.Sprintf("axis %d", s.Axis))
	case *Permute:
		out, args = s.Out, append(names(s.In), "perm "+formatInts(s.Perm))
	case *Reshape:
		out, args = s.Out, names(s.In)
	case *Unary:
		out, args = s.Out, append([]string{s.Fn}, names(s.In)...)
	case *Binary:
		out, args = s.Out, append([]string{s.Fn}, names(s.A, s.B)...)
	case *Cast:
		out, args = s.Out, names(s.In)
	case *Reduce:
		out, args = s.Out, append([]string{s.Fn}, append(names(s.In), fmt.Sprintf("axis %d", s.Axis))...)
	default:
		panic(fmt.Sprintf("hostir: no text form for %T", s))
	}
	return out.Name + " = " + call(s.Op(), args...)
}

// productArgs prints what a product adds to, if it does, and that its batches are rows.
func productArgs(addend *Tensor, oneRow bool) (args []string) {
	if addend != nil {
		args = append(args, "add "+addend.Name)
	}
	if oneRow {
		args = append(args, "rows 1")
	}
	return args
}

func communicationArgs(s *Communication) []string {
	args := []string{string(s.Type), "mesh " + s.Mesh.Name}
	if s.MeshAxis != "" {
		args[1] += " axis " + s.MeshAxis
	}
	if s.Root != nil {
		args = append(args, "root "+s.Root.String())
	}
	if s.ReduceFn != "" {
		args = append(args, "reduce "+s.ReduceFn)
	}
	args = append(args, "in "+s.In.Name, "out "+s.Out.Name)
	return appendBackend(args, s.Backend)
}

func p2pArgs(s *P2PCommunication) []string {
	direction := "recv"
	if s.Send {
		direction = "send"
	}
	args := appendBackend([]string{direction, "buffer " + s.Buffer.Name, "peer " + s.Peer.String()}, s.Backend)
	if s.Reach != Anywhere {
		args[len(args)-1] += " " + string(s.Reach)
	}
	return args
}

func appendBackend(args []string, b Backend) []string {
	if b == None {
		return args
	}
	return append(args, string(b))
}

// String prints a stream as statements name it: "caller", "worker s % 4".
func (r StreamRef) String() string {
	if r.Index == nil {
		return r.Var
	}
	return "worker " + r.Index.String()
}

func call(op string, args ...string) string { return op + "(" + strings.Join(args, ", ") + ")" }

func names(tensors ...*Tensor) []string {
	var list []string
	for _, t := range tensors {
		if t != nil {
			list = append(list, t.Name)
		}
	}
	return list
}
