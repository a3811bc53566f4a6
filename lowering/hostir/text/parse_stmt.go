package text

import (
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// bodyLine parses one statement and puts it where its indentation says.
func (p *parser) bodyLine() {
	spaces := len(p.text) - len(strings.TrimLeft(p.text, " "))
	depth := spaces / 2
	if spaces%2 != 0 || depth >= len(p.blocks) {
		p.failAt(spaces, "the indentation fits no open For or If")
		return
	}
	p.blocks = p.blocks[:depth+1]
	if p.peek() == "Else" {
		p.elseLine(depth)
		return
	}
	s := p.statement()
	if s == nil || p.err != nil {
		return
	}
	*s.Meta() = p.trailer(p.program.File)
	p.lines[s] = diag.Pos{File: p.file, Line: p.pos.Line, Col: spaces + 1}
	*p.blocks[depth] = append(*p.blocks[depth], s)
	if bodies := hostir.Bodies(s); len(bodies) > 0 {
		p.blocks = append(p.blocks, bodies[0])
	}
}

func (p *parser) elseLine(depth int) {
	at := p.at
	p.keyword("Else")
	p.expect(":")
	p.end()
	block := *p.blocks[depth]
	if len(block) > 0 {
		if s, ok := block[len(block)-1].(*hostir.If); ok && s.Else == nil {
			p.blocks = append(p.blocks, &s.Else)
			return
		}
	}
	p.failAt(at, "Else stands after no If")
}

// statement parses up to the position and note.
func (p *parser) statement() hostir.Stmt {
	at := p.at
	word := p.name("a statement")
	if p.accept("=") {
		return p.assignment(word)
	}
	switch word {
	case "For":
		return p.forLine()
	case "If":
		s := &hostir.If{Cond: p.expression(":")}
		p.expect(":")
		return s
	case "StartCoalescing":
		return &hostir.StartCoalescing{}
	}
	p.expect("(")
	var s hostir.Stmt
	switch word {
	case "Delay":
		s = &hostir.Delay{Microseconds: int64(p.small())}
	case "Deallocate":
		s = &hostir.Deallocate{Tensor: p.tensor()}
	case "SetCurrentStream":
		s = &setCurrentStream{Stream: p.stream()}
	case "Synchronize":
		s = &hostir.Synchronize{Stream: p.stream()}
	case "Wait":
		s = p.wait()
	case "ShareMemHandles":
		s = p.shareMemHandles()
	default:
		p.failAt(at, "%q is no statement", word)
	}
	p.expect(")")
	return s
}

func (p *parser) forLine() hostir.Stmt {
	s := &hostir.For{Var: p.name("a loop variable")}
	p.keyword("in")
	s.First = p.first()
	s.Count = p.extent(":")
	p.expect(":")
	return s
}

// first takes "1.." in front of the count of a loop that leaves out iteration 0.
func (p *parser) first() int64 {
	p.skipSpace()
	digits := p.at
	for digits < len(p.text) && isDigit(p.text[digits]) {
		digits++
	}
	if digits == p.at || !strings.HasPrefix(p.text[digits:], "..") {
		return 0
	}
	n := int64(p.small())
	p.expect("..")
	return n
}

func (p *parser) stream() hostir.StreamRef {
	p.skipSpace()
	at := p.at
	word := p.name("a stream")
	if word == "worker" && !p.startsArgumentEnd() {
		return hostir.StreamRef{Index: p.expression(")")}
	}
	if word != hostir.Caller && word != hostir.CopyStream {
		p.failAt(at, "there is no stream %q: streams are %s, %s and worker with an index", word, hostir.Caller, hostir.CopyStream)
	}
	return hostir.StreamRef{Copies: word == hostir.CopyStream}
}

func (p *parser) wait() hostir.Stmt {
	s := &hostir.Wait{Handle: p.name("a communication")}
	if p.accept(",") {
		p.keyword("iteration")
		s.Iteration = p.expression(")")
	}
	return s
}

func (p *parser) shareMemHandles() hostir.Stmt {
	s := &hostir.ShareMemHandles{}
	for more := !p.startsArgumentEnd(); more && p.err == nil; more = p.accept(",") {
		word := p.name("a communication")
		if word == "mesh" && s.Comms == nil && !p.startsArgumentEnd() {
			s.Mesh = p.mesh()
			p.keyword("axis")
			s.MeshAxis = p.name("a mesh axis")
			continue
		}
		s.Comms = append(s.Comms, word)
	}
	return s
}

// tensor takes the name of a declared tensor.
func (p *parser) tensor() *hostir.Tensor {
	p.skipSpace()
	at := p.at
	return p.lookup(p.name("a tensor"), at)
}

func (p *parser) lookup(name string, at int) *hostir.Tensor {
	t := p.tensors[name]
	if t == nil {
		p.failAt(at, "tensor %q is not declared", name)
	}
	return t
}

// assignment parses what stands right of "name =".
func (p *parser) assignment(name string) hostir.Stmt {
	p.skipSpace()
	at := p.at
	switch op := p.name("a statement"); op {
	case "Allocate":
		return &hostir.Allocate{Tensor: p.lookup(name, at)}
	case "GetCurrentStream":
		if name != hostir.Caller {
			p.failAt(at, "the stream that a program is called with is %s", hostir.Caller)
		}
		return &hostir.GetCurrentStream{}
	case "EndCoalescing":
		return &hostir.EndCoalescing{Handle: name}
	case "Communication", "P2PCommunication":
		p.expect("(")
		s := p.communication(op, name)
		p.expect(")")
		return s
	default:
		p.expect("(")
		s := p.compute(op, at, p.lookup(name, at))
		p.expect(")")
		switch s := s.(type) {
		case *hostir.PeerReadSum:
			p.expect(":")
		case *hostir.Fused:
			p.body(s)
		}
		return s
	}
}

func (p *parser) attribute(word string) int {
	p.keyword(word)
	return p.small()
}
