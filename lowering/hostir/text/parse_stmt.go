package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// bodyLine parses one line of a body. The indentation selects a statement list. The line is a statement, which bodyLine
// appends to the list, or the Else of the If at the end of the list.
func (p *parser) bodyLine() {
	spaces := len(p.Text) - len(strings.TrimLeft(p.Text, " "))
	depth := spaces / 2
	if spaces%2 != 0 || depth >= len(p.blocks) {
		p.FailAt(spaces, "the indentation fits no open For or If")
		return
	}
	p.blocks = p.blocks[:depth+1]
	if p.Peek() == "Else" {
		p.elseLine(depth)
		return
	}
	s := p.statement()
	if s == nil || p.Err != nil {
		return
	}
	*s.Meta() = p.trailer()
	p.lines[s] = diag.Pos{File: p.file, Line: p.Pos.Line, Col: spaces + 1}
	*p.blocks[depth] = append(*p.blocks[depth], s)
	if bodies := hostir.Bodies(s); len(bodies) > 0 {
		p.blocks = append(p.blocks, bodies[0])
	}
}

func (p *parser) elseLine(depth int) {
	at := p.At
	p.Keyword("Else")
	p.Expect(":")
	p.end()
	block := *p.blocks[depth]
	if len(block) > 0 {
		if s, ok := block[len(block)-1].(*hostir.If); ok && s.Else == nil {
			p.blocks = append(p.blocks, &s.Else)
			return
		}
	}
	p.FailAt(at, "Else stands after no If")
}

// statement parses a statement up to its position and note. It returns nil after an unknown name.
func (p *parser) statement() hostir.Stmt {
	at := p.At
	names := []string{p.Name("a statement")}
	for p.Accept(",") {
		names = append(names, p.Name("a tensor"))
	}
	if p.Accept("=") {
		return p.assignment(names, at)
	}
	switch names[0] {
	case "For":
		return p.forLine()
	case "If":
		s := &hostir.If{Cond: p.Expression(":")}
		p.Expect(":")
		return s
	case "SetCurrentStream":
		return p.call(&SetCurrentStream{})
	}
	s := hostir.New(names[0])
	if s == nil || target(s) != nil {
		p.FailAt(at, "%q is no statement", names[0])
		return nil
	}
	return p.call(s)
}

// target returns a pointer to the field left of "="; nil if the statement has no such field.
func target(s hostir.Stmt) any {
	for _, f := range hostir.Fields(s) {
		if f.Target {
			return f.Value
		}
	}
	return nil
}

// assignment parses the text right of "name =", or "name, name =".
func (p *parser) assignment(names []string, namesAt int) hostir.Stmt {
	p.SkipSpace()
	at := p.At
	s := hostir.New(p.Name("a statement"))
	if s == nil {
		p.FailAt(at, "%q is no statement", p.Text[at:p.At])
		return nil
	}
	_, current := s.(*hostir.GetCurrentStream)
	switch v := target(s).(type) {
	case *[]*hostir.Tensor:
		for _, name := range names {
			*v = append(*v, p.lookup(name, namesAt))
		}
		return p.call(s)
	case **hostir.Tensor:
		*v = p.lookup(names[0], namesAt)
	case *string:
		*v = names[0]
	default:
		if !current {
			p.FailAt(at, "%q is no statement", hostir.Op(s))
		}
	}
	if len(names) > 1 {
		p.FailAt(namesAt, "%s has one result", hostir.Op(s))
	} else if current && names[0] != hostir.Caller {
		p.FailAt(at, "the stream that a program is called with is %s", hostir.Caller)
	}
	return p.call(s)
}

// call parses the parentheses of a statement, and the steps of a fused kernel or the colon after them.
func (p *parser) call(s hostir.Stmt) hostir.Stmt {
	if !takesArguments(s) {
		return s
	}
	fused, isFused := s.(*hostir.Fused)
	p.Expect("(")
	if isFused {
		p.fused(fused)
	} else {
		p.arguments(slices.DeleteFunc(hostir.Fields(s), func(f hostir.Field) bool { return f.Target }))
	}
	p.Expect(")")
	if isFused {
		p.body(fused)
	} else if len(hostir.Bodies(s)) > 0 {
		p.Expect(":")
	}
	return s
}

func (p *parser) forLine() hostir.Stmt {
	s := &hostir.For{Var: p.Name("a loop variable")}
	p.Keyword("in")
	s.First = p.first()
	s.Count = p.extent(":")
	p.Expect(":")
	return s
}

// first parses the start of a loop's range, such as "1.." in "1..S", and returns the number. If the range has no start,
// it returns 0.
func (p *parser) first() int64 {
	before, _, ok := strings.Cut(p.Text[p.At:], "..")
	n, err := strconv.ParseInt(strings.TrimSpace(before), 10, 32)
	if !ok || err != nil {
		return 0
	}
	p.At += len(before) + len("..")
	return n
}

func (p *parser) stream() hostir.StreamRef {
	p.SkipSpace()
	at := p.At
	word := p.Name("a stream")
	if word == "worker" && !p.startsArgumentEnd() {
		return hostir.StreamRef{Index: p.Expression(")")}
	}
	if word != hostir.Caller && word != hostir.CopyStream {
		p.FailAt(at, "there is no stream %q: streams are %s, %s and worker with an index", word, hostir.Caller, hostir.CopyStream)
	}
	return hostir.StreamRef{Copies: word == hostir.CopyStream}
}

// tensor parses the name of a declared tensor.
func (p *parser) tensor() *hostir.Tensor {
	p.SkipSpace()
	at := p.At
	return p.lookup(p.Name("a tensor"), at)
}

func (p *parser) lookup(name string, at int) *hostir.Tensor {
	t := p.tensors[name]
	if t == nil {
		p.FailAt(at, "tensor %q is not declared", name)
	}
	return t
}
