package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// Statement is the text of one statement without its body, position and note:
// "A_s = Select(A, axis 0, index s)", "For s in S:".
func Statement(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.Allocate:
		return s.Tensor.Name + " = Allocate"
	case *hostir.Delay:
		return call("Delay", strconv.FormatInt(s.Microseconds, 10))
	case *hostir.Deallocate:
		return call("Deallocate", s.Tensor.Name)
	case *hostir.GetCurrentStream:
		return hostir.Caller + " = GetCurrentStream"
	case *setCurrentStream:
		return call("SetCurrentStream", s.Stream.String())
	case *hostir.Synchronize:
		return call("Synchronize", s.Stream.String())
	case *hostir.For:
		return fmt.Sprintf("For %s in %s:", s.Var, rangeOf(s))
	case *hostir.If:
		return fmt.Sprintf("If %s:", s.Cond)
	case *hostir.PeerReadSum:
		return s.Out.Name + " = " + call(s.Op(), s.In.Name) + ":"
	case *hostir.StartCoalescing:
		return "StartCoalescing"
	case *hostir.EndCoalescing:
		return s.Handle + " = EndCoalescing"
	case *hostir.Wait:
		if s.Iteration != nil {
			return call("Wait", s.Handle, "iteration "+s.Iteration.String())
		}
		return call("Wait", s.Handle)
	case *hostir.ShareMemHandles:
		return call("ShareMemHandles", sharedArgs(s)...)
	case *hostir.Communication:
		return s.Handle + " = " + call("Communication", communicationArgs(s)...)
	case *hostir.P2PCommunication:
		return s.Handle + " = " + call("P2PCommunication", p2pArgs(s)...)
	default:
		return computeHead(s)
	}
}

// sharedArgs names the team, unless it is all ranks, and what is shared.
func sharedArgs(s *hostir.ShareMemHandles) []string {
	if s.Mesh == nil {
		return s.Comms
	}
	return append([]string{"mesh " + s.Mesh.Name + " axis " + s.MeshAxis}, s.Comms...)
}

// rangeOf prints what a loop runs over: "S", or "1..S" where it leaves out iteration 0.
func rangeOf(s *hostir.For) string {
	if s.First == 0 {
		return s.Count.String()
	}
	return fmt.Sprintf("%d..%s", s.First, s.Count)
}

// computeHead prints the statements that read "out = Op(operands, attributes)".
func computeHead(s hostir.Stmt) string {
	var out *hostir.Tensor
	var args []string
	switch s := s.(type) {
	case *hostir.Select:
		out, args = s.Out, []string{s.In.Name, fmt.Sprintf("axis %d", s.Axis), "index " + s.Index.String()}
		if s.Parts != 0 {
			args = append(args, fmt.Sprintf("parts %d", s.Parts))
		}
	case *hostir.Set:
		out, args = s.Out, names(s.In)
	case *hostir.Matmul:
		out, args = s.Out, append(names(s.A, s.B), productArgs(s.Addend, s.OneRow)...)
	case *hostir.Linear:
		out, args = s.Out, append(names(s.X, s.W, s.Bias), productArgs(s.Addend, s.OneRow)...)
	case *hostir.Broadcast:
		out, args = s.Out, append(names(s.In), fmt.Sprintf("axis %d", s.Axis))
	case *hostir.Permute:
		out, args = s.Out, append(names(s.In), "perm "+Numbers(s.Perm))
	case *hostir.Reshape:
		out, args = s.Out, names(s.In)
	case *hostir.Positions:
		out = s.Out
	case *hostir.Slice:
		out, args = s.Out, append(names(s.In), fmt.Sprintf("axis %d", s.Axis), "start "+s.Start.String())
	case *hostir.Concat:
		out, args = s.Out, append(names(s.In...), fmt.Sprintf("axis %d", s.Axis))
	case *hostir.Unary:
		out, args = s.Out, append([]string{s.Fn}, names(s.In)...)
	case *hostir.Binary:
		out, args = s.Out, append([]string{s.Fn}, names(s.A, s.B)...)
	case *hostir.Cast:
		out, args = s.Out, names(s.In)
	case *hostir.Fused:
		return s.Out.Name + " = " + call(s.Op(), fusedArgs(s)...) + ": " + s.Body.Text(s.Names)
	case *hostir.Reduce:
		out, args = s.Out, append([]string{s.Fn}, append(names(s.In), fmt.Sprintf("axis %d", s.Axis))...)
	default:
		panic(fmt.Sprintf("hostir: no text form for %T", s))
	}
	return out.Name + " = " + call(s.Op(), args...)
}

// fusedArgs prints the kernel and its operands, those with another name in its body as "Z_s as Z".
func fusedArgs(s *hostir.Fused) []string {
	args := []string{s.Kernel}
	for i, t := range s.In {
		if s.Names[i] == t.Name {
			args = append(args, t.Name)
		} else {
			args = append(args, t.Name+" as "+s.Names[i])
		}
	}
	return args
}

// productArgs prints what a product adds to, if it does, and that its batches are rows.
func productArgs(addend *hostir.Tensor, oneRow bool) (args []string) {
	if addend != nil {
		args = append(args, "add "+addend.Name)
	}
	if oneRow {
		args = append(args, "rows 1")
	}
	return args
}

func communicationArgs(s *hostir.Communication) []string {
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
	return appendOf(appendBackend(args, s.Backend), s.Of)
}

func p2pArgs(s *hostir.P2PCommunication) []string {
	direction := "recv"
	if s.Send {
		direction = "send"
	}
	args := appendBackend([]string{direction, "buffer " + s.Buffer.Name, "peer " + s.Peer.String()}, s.Backend)
	if s.Locality != hostir.AnyNode {
		args[len(args)-1] += " " + string(s.Locality)
	}
	return appendOf(args, s.Of)
}

// appendOf says which communication of the schedule it is.
func appendOf(args []string, of string) []string {
	if of == "" {
		return args
	}
	return append(args, "of "+of)
}

func appendBackend(args []string, b hostir.Backend) []string {
	if b == hostir.None {
		return args
	}
	return append(args, string(b))
}

func call(op string, args ...string) string { return op + "(" + strings.Join(args, ", ") + ")" }

func names(tensors ...*hostir.Tensor) []string {
	var list []string
	for _, t := range tensors {
		if t != nil {
			list = append(list, t.Name)
		}
	}
	return list
}
