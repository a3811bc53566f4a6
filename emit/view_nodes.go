package emit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The statements of the emitted program. Text is the host IR statement that a node
// comes from and Note why a pass added it, both for comments; Where is the position
// that a failing call reports.

// source is the part of a node that tells where it comes from.
type source struct {
	Text, Note, Where string
}

// Comment is the reason for a statement, then the statement as the host IR has it.
func (s source) Comment() string {
	lines := s.NoteComment()
	if s.Text != "" {
		lines = strings.TrimLeft(lines+"\n"+comment(s.Text), "\n")
	}
	return lines
}

// NoteComment is the reason alone, for statements that read like what they are.
func (s source) NoteComment() string {
	if s.Note == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s.Note)
	return comment(string(unicode.ToUpper(first)) + strings.TrimRight(s.Note[size:], ".") + ".")
}

type (
	// bindNode gives a caller's pointer its name and type.
	bindNode struct {
		Const      bool
		Type, Name string
		Index      int
		Shape      string
	}
	// rankNode names this process's rank.
	rankNode struct{ Name string }
	// bufferNode is the part of a Temp's buffer that one iteration uses.
	bufferNode struct {
		source
		Type, Name, Member, Offset, Shape string
		Guard                             string // of the ranks that hold it; empty for all
	}
	// keepNode stands for a Deallocate: the buffer lives as long as the program.
	keepNode struct {
		source
		Name string
	}
	// streamNode declares the variable that holds the current stream.
	streamNode struct{}
	// currentNode is GetCurrentStream.
	currentNode struct {
		source
		Name string
	}
	// setStreamNode is SetCurrentStream.
	setStreamNode struct {
		source
		Stream string
	}
	// orderNode makes stream To wait for what was issued to From.
	orderNode struct {
		source
		Event, From, To string
	}
	// waitNode makes stream To wait for an event that was recorded before.
	waitNode struct {
		source
		Event, To string
	}
	// recordNode records an event.
	recordNode struct {
		source
		Event, Stream string
	}
	// delayNode keeps the current stream idle.
	delayNode struct {
		source
		Microseconds int64
	}
	// forNode is a loop.
	forNode struct {
		source
		Var, First, Count string
		Body              []node
	}
	// ifNode is a branch.
	ifNode struct {
		source
		Cond string
		Body []node
		Else []node
	}
	// viewNode names a part of a buffer, or the buffer in another shape.
	viewNode struct {
		source
		Declares   bool // false when the name is declared already
		Const      bool
		Type, Name string
		Base       string
		Offset     string // in elements; empty for none
		Shape      string // empty for the other end of a transfer, whose shape is the same
		Guard      string // of the ranks that hold it; empty for all
	}
	// copyNode is a contiguous copy.
	copyNode struct {
		source
		Out, In, Elements, Type string
	}
	// operand is a strided view as the kernels take it.
	operand struct {
		Name             string
		Extents, Strides []string
	}
	// unaryNode is an elementwise function, a cast or a strided copy.
	unaryNode struct {
		source
		Fn       string
		Out, In  operand
		Elements string // where both are one run of memory; empty where they are not
	}
	// binaryNode is an elementwise function of two operands.
	binaryNode struct {
		source
		Fn        string
		Out, A, B operand
		Elements  string // as for unaryNode
	}
	// reduceNode folds one axis.
	reduceNode struct {
		source
		Fn      string
		Axis    int
		Out, In operand
	}
	// gemmNode is a GEMM by cuBLASLt.
	gemmNode struct {
		source
		Plan, Out, A, B, Bias, Workspace string
		Added, Beta                      string // cuBLASLt's C, which is added Beta times
	}
	// groupNode is ncclGroupStart.
	groupNode struct{ source }
	// groupEndNode is ncclGroupEnd.
	groupEndNode struct{ source }
	// collectiveNode is a call of NCCL over a team. Kind selects the template.
	collectiveNode struct {
		source
		Kind          string
		Team, In, Out string
		Count         string // elements, as the call counts them
		Type, Fn      string
		Root          string
		InPlace       string // where the root of a broadcast has no result: its operand, to receive in
		Peer          string
		From, To      string // meshes of a SendRecv
		PeerOffset    string // elements before the slice of rank "peer"
		Grouped       bool   // part of a group, whose end launches its calls
	}
)

func (*bindNode) template() string         { return "stmt/bind" }
func (*rankNode) template() string         { return "stmt/rank" }
func (*bufferNode) template() string       { return "stmt/buffer" }
func (*keepNode) template() string         { return "stmt/deallocate" }
func (*streamNode) template() string       { return "stmt/stream" }
func (*currentNode) template() string      { return "stmt/get_current_stream" }
func (*setStreamNode) template() string    { return "stmt/set_current_stream" }
func (*orderNode) template() string        { return "stmt/synchronize" }
func (*waitNode) template() string         { return "stmt/wait" }
func (*recordNode) template() string       { return "stmt/record" }
func (*delayNode) template() string        { return "stmt/delay" }
func (*forNode) template() string          { return "stmt/for" }
func (*ifNode) template() string           { return "stmt/if" }
func (*viewNode) template() string         { return "stmt/view" }
func (*copyNode) template() string         { return "stmt/copy" }
func (*unaryNode) template() string        { return "stmt/unary" }
func (*binaryNode) template() string       { return "stmt/binary" }
func (*reduceNode) template() string       { return "stmt/reduce" }
func (*gemmNode) template() string         { return "stmt/gemm" }
func (*groupNode) template() string        { return "stmt/group_start" }
func (*groupEndNode) template() string     { return "stmt/group_end" }
func (n *collectiveNode) template() string { return "stmt/" + n.Kind }

// View is the operand's extents and strides, as a hirgen::Strided.
func (o operand) View() string {
	return braces(fmt.Sprint(len(o.Extents)), braces(o.Extents...), braces(o.Strides...))
}
