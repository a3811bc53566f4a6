package fromhost

import (
	"regexp"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Labels name tensors of the spec, because a tensor of the host program, such as P_s_2, may not exist in the emitted
// program.

// A wording describes what calls do: the name of their label, its text, and the communication that they belong to.
type wording struct{ constant, words, part string }

// says returns the Info of a statement that belongs to a communication.
func (b *builder) says(s hostir.Stmt, w wording) calls.Info {
	info := b.info(s, w.constant, w.words)
	info.Part = w.part
	return info
}

// computed returns the Info of a statement that computes, with a label such as "matmul into P" or "sum into C". more is
// added to the text.
func (b *builder) computed(s hostir.Stmt, more string) calls.Info {
	verb, name := operation(s), b.spec.Name(s, hostir.Result(s))
	return b.info(s, verb+"_"+name, verb+" into "+name+more)
}

// wordEnd finds the ends of words in the name of a type: BlockLinear is block_linear in specs.
var wordEnd = regexp.MustCompile(`([a-z])([A-Z])`)

// operation names the operation of a statement: its function without constants, the name of its kernel, or words for
// its type.
func operation(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.Reduce:
		return s.Fn
	case *hostir.Binary:
		return s.Fn
	case *hostir.Unary:
		name, _, _ := strings.Cut(s.Fn, "(")
		return name
	case *hostir.Fused:
		return s.Kernel
	case *hostir.PeerReadSum:
		return "sum"
	case *hostir.Set:
		return "copy"
	}
	return strings.ToLower(wordEnd.ReplaceAllString(hostir.Op(s), "${1}_${2}"))
}

// partOf describes the communication that a statement belongs to: "reduce-scatter of P over x, into C". t is the tensor
// whose data moves. The result is empty for a statement without a Need.
func (b *builder) partOf(s hostir.Stmt, t *hostir.Tensor) string {
	name, need := b.spec.Name(s, t), s.Meta().Need
	if need == nil {
		return ""
	}
	words, kind := "transfer of "+name+" from mesh "+need.Mesh+" to "+need.ToMesh, need.Change().Type
	if c, ok := s.(*hostir.Communication); ok && kind != "" {
		kind = c.Type // a pipeline may use another type, such as a broadcast
	}
	if kind != "" {
		words = collectiveWords(kind) + " of " + name + " over " + need.Axis
	}
	if need.From == hostir.Partial && need.Tensor != name {
		return words + ", into " + need.Tensor
	}
	return words
}

// collectiveWords returns the name of a type in comments: "reduce-scatter".
func collectiveWords(t collective.Type) string {
	return strings.ReplaceAll(t.Row().Call, "_", "-")
}

// collectiveWording returns the wordings of a collective, and of a wait for it.
func (b *builder) collectiveWording(s *hostir.Communication) (does, waits wording) {
	name := b.spec.Name(s, s.In)
	does = wording{s.Type.Row().Call + "_" + name, collectiveWords(s.Type) + " of " + name, b.partOf(s, s.In)}
	return does, wording{"wait_" + does.constant, "wait for the " + does.words, does.part}
}

// sent returns the tensor whose data a transfer through shared memory sends. For other transfers, it returns the buffer
// of the statement.
func (b *builder) sent(s *hostir.P2PCommunication) *hostir.Tensor {
	if pair := b.pairs[s.Handle]; pair != nil {
		return pair.Send.Buffer
	}
	return s.Buffer
}

// transferWording returns the wordings of one side of a transfer, and of a wait for its end. They name the tensor that
// is sent (see sent). The owner of shared memory only sets a ready flag, so its wordings name that memory: peers may
// read it or write it.
func (b *builder) transferWording(s *hostir.P2PCommunication, memory *hostir.Tensor) (does, waits wording) {
	name, part := b.spec.Name(s, b.sent(s)), b.partOf(s, b.sent(s))
	verb, done := "receive", " is received"
	if s.Send {
		verb, done = "send", " is sent"
	}
	owns := s.Backend.IPC() && s.Owns()
	if owns {
		name = memory.Name
	}
	does = wording{verb + "_" + name, verb + " " + name, part}
	waits = wording{"wait_" + does.constant, "wait until " + name + done, part}
	if !owns {
		return does, waits
	}
	does = wording{"ready_" + name, "let peers write " + name, part}
	if s.Send {
		does.words = "let peers read " + name
		waits.constant, waits.words = "wait_read_"+name, "wait until peers have read "+name
	}
	return does, waits
}

// groupWording returns the wordings of a group of communications, and of a wait for it.
func (b *builder) groupWording(members []hostir.Stmt) (does, waits wording) {
	for _, s := range members {
		switch s := s.(type) {
		case *hostir.Communication:
			return b.collectiveWording(s)
		case *hostir.P2PCommunication:
			name := b.spec.Name(s, s.Buffer)
			does = wording{"exchange_" + name, "exchange of " + name, b.partOf(s, s.Buffer)}
		case *hostir.If:
			return b.groupWording(s.Body)
		}
	}
	return does, wording{"wait_" + does.constant, "wait for the " + does.words, does.part}
}
