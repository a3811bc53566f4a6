package text

import (
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// compute parses the arguments of "out = Op(...)".
func (p *parser) compute(op string, at int, out *hostir.Tensor) hostir.Stmt {
	switch op {
	case "Select":
		return p.selection(out)
	case "Set":
		return &hostir.Set{Out: out, In: p.tensor()}
	case "PeerReadSum":
		return &hostir.PeerReadSum{Out: out, In: p.tensor()}
	case "Matmul":
		s := &hostir.Matmul{Out: out, A: p.tensor()}
		p.expect(",")
		s.B = p.tensor()
		s.Addend, s.OneRow = p.productEnd(p.accept(","))
		return s
	case "Linear":
		return p.linear(out)
	case "Broadcast":
		s := &hostir.Broadcast{Out: out, In: p.tensor()}
		p.expect(",")
		s.Axis = p.attribute("axis")
		return s
	case "Permute":
		s := &hostir.Permute{Out: out, In: p.tensor()}
		p.expect(",")
		p.keyword("perm")
		s.Perm = p.axes()
		return s
	case "Reshape":
		return &hostir.Reshape{Out: out, In: p.tensor()}
	case "Positions":
		return &hostir.Positions{Out: out}
	case "Slice":
		s := &hostir.Slice{Out: out, In: p.tensor()}
		p.expect(",")
		s.Axis = p.attribute("axis")
		p.expect(",")
		p.keyword("start")
		s.Start = p.extent(")")
		return s
	case "Concat":
		return p.concat(out)
	case "Cast":
		return &hostir.Cast{Out: out, In: p.tensor()}
	case "Fused":
		return p.fused(out)
	case "Unary", "Binary", "Reduce":
		return p.function(op, out)
	default:
		p.failAt(at, "%q is no statement", op)
		return nil
	}
}

func (p *parser) selection(out *hostir.Tensor) hostir.Stmt {
	s := &hostir.Select{Out: out, In: p.tensor()}
	p.expect(",")
	s.Axis = p.attribute("axis")
	p.expect(",")
	p.keyword("index")
	s.Index = p.expression(",)")
	if p.accept(",") {
		s.Parts = int64(p.attribute("parts"))
	}
	return s
}

// concat takes operands up to the axis.
func (p *parser) concat(out *hostir.Tensor) hostir.Stmt {
	s := &hostir.Concat{Out: out}
	for p.err == nil && (len(s.In) == 0 || !p.starts("axis")) {
		s.In = append(s.In, p.tensor())
		p.expect(",")
	}
	s.Axis = p.attribute("axis")
	return s
}

func (p *parser) linear(out *hostir.Tensor) hostir.Stmt {
	s := &hostir.Linear{Out: out, X: p.tensor()}
	p.expect(",")
	s.W = p.tensor()
	more := p.accept(",")
	if more && !p.starts("add") && !p.starts("rows") {
		s.Bias = p.tensor()
		more = p.accept(",")
	}
	s.Addend, s.OneRow = p.productEnd(more)
	return s
}

// productEnd parses what a product adds to, "add P_sums", and "rows 1" if there is more.
func (p *parser) productEnd(more bool) (addend *hostir.Tensor, oneRow bool) {
	if more && !p.starts("rows") {
		p.keyword("add")
		addend = p.tensor()
		more = p.accept(",")
	}
	if !more {
		return addend, false
	}
	at := p.at
	if p.attribute("rows") != 1 {
		p.failAt(at, "a product has rows 1 or does not say it")
	}
	return addend, true
}

// starts reports whether a word comes next as one of its own, not as a tensor's name.
func (p *parser) starts(word string) bool {
	at := p.at
	is := p.acceptWord(word) && !p.startsArgumentEnd()
	p.at = at
	return is
}

// function parses the statements whose first argument names a function.
func (p *parser) function(op string, out *hostir.Tensor) hostir.Stmt {
	fn := p.functionName()
	p.expect(",")
	in := p.tensor()
	switch op {
	case "Unary":
		return &hostir.Unary{Fn: fn, Out: out, In: in}
	case "Binary":
		p.expect(",")
		return &hostir.Binary{Fn: fn, Out: out, A: in, B: p.tensor()}
	default:
		p.expect(",")
		return &hostir.Reduce{Fn: fn, Out: out, In: in, Axis: p.attribute("axis")}
	}
}

// fused parses a kernel's name and its operands; the body stands behind them.
func (p *parser) fused(out *hostir.Tensor) *hostir.Fused {
	s := &hostir.Fused{Out: out, Kernel: p.name("a kernel")}
	for p.err == nil && p.accept(",") {
		name := p.peek()
		s.In = append(s.In, p.tensor())
		if p.acceptWord("as") {
			name = p.name("an operand")
		}
		s.Names = append(s.Names, name)
	}
	return s
}

// body parses what a fused kernel computes: ": G = silu(Zg), A = mul(G, Zu)".
func (p *parser) body(s *hostir.Fused) {
	p.expect(":")
	text, at := p.until("@#")
	body, ok := domain.ParseBody(text, s.Names)
	if !ok {
		p.failAt(at, "%q is no list of operations on %s", text, strings.Join(s.Names, ", "))
	}
	s.Body = body
}

// functionName takes the spelling of a function: "gelu", "scale(0.125)".
func (p *parser) functionName() string {
	fn := p.name("a function")
	if !p.accept("(") {
		return fn
	}
	constant, _ := p.until(")")
	p.expect(")")
	return fn + "(" + constant + ")"
}
