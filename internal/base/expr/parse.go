package expr

import (
	"fmt"
	"strings"
)

const (
	// maxDepth bounds nested parentheses.
	maxDepth = 64
	// maxLength bounds the text of an expression, in bytes, because generated files contain it.
	maxLength = 4096
)

// SyntaxError is the error of Parse and ParseHost if the text is not an expression.
type SyntaxError struct {
	Offset   int // byte offset into the text
	Msg      string
	Overflow bool   // a number does not fit in 64 bits
	Plain    string // the plain form, if a number has another form; otherwise empty
}

func (e *SyntaxError) Error() string { return e.Msg }

// precedence has the precedence of each binary operator, in the order of C++. All associate to the left.
var precedence = map[string]int{"^": 1, "==": 2, "!=": 2, "<": 3, ">=": 3, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}

// Parse reads an expression of a spec from the whole text. White space around a text that is only a number is an error.
// An error is a *SyntaxError.
func Parse(text string) (Expr, error) {
	e, err := parse(text, false)
	if n, ok := e.(Int); ok && strings.TrimSpace(text) == n.String() && text != n.String() {
		return nil, notPlain(0, text, n.String())
	}
	return e, err
}

// ParseHost reads an expression of a host program or a call program. Unlike Parse, it accepts "^", "<" and ">=", and
// white space around a text that is only a number.
func ParseHost(text string) (Expr, error) { return parse(text, true) }

func parse(text string, host bool) (Expr, error) {
	if len(text) > maxLength {
		return nil, &SyntaxError{Msg: fmt.Sprintf("an expression has at most %d characters, not %d", maxLength, len(text))}
	}
	p := &parser{lexer: lexer{text: text, bits: host}}
	p.next()
	e, err := p.binary(1)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEnd {
		return nil, p.unexpected("an operator")
	}
	return e, nil
}

type parser struct {
	lexer
	tok   token
	depth int
}

func (p *parser) next() { p.tok = p.scan() }

// binary parses an operand and the operations on it whose operators have at least the given precedence.
func (p *parser) binary(least int) (Expr, error) {
	x, err := p.operand()
	if err != nil {
		return nil, err
	}
	for p.tok.kind == tokenOp && precedence[p.tok.text] >= least {
		op := p.tok.text
		p.next()
		y, err := p.binary(precedence[op] + 1)
		if err != nil {
			return nil, err
		}
		x = &Binary{Op: op, X: x, Y: y}
	}
	return x, nil
}

func (p *parser) operand() (Expr, error) {
	tok := p.tok
	switch {
	case tok.kind == tokenInt:
		return p.integer(tok.offset)
	case tok.kind == tokenOp && (tok.text == "-" || tok.text == "+"):
		p.next()
		if p.tok.kind == tokenInt {
			return p.integer(tok.offset)
		}
		if tok.text == "+" {
			p.tok = tok
			return nil, p.unexpected("a number, a name or \"(\"")
		}
		return nil, p.unexpected("a number after the sign")
	case tok.kind == tokenName:
		p.next()
		return Var(tok.text), nil
	case tok.kind == tokenOpen:
		return p.parenthesized()
	default:
		return nil, p.unexpected("a number, a name or \"(\"")
	}
}

func (p *parser) parenthesized() (Expr, error) {
	open := p.tok
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, &SyntaxError{Offset: open.offset, Msg: "parentheses are nested too deeply"}
	}
	p.next()
	e, err := p.binary(1)
	if err != nil {
		return nil, err
	}
	if p.tok.kind == tokenEnd {
		return nil, &SyntaxError{Offset: open.offset, Msg: `"(" is never closed`}
	}
	if p.tok.kind != tokenClose {
		return nil, p.unexpected(`an operator or ")"`)
	}
	p.next()
	return e, nil
}

// integer reads the number of the current token. from is the byte offset of its sign, or of its first digit if it has no
// sign.
func (p *parser) integer(from int) (Expr, error) {
	rest := &lexer{text: p.text, offset: p.offset}
	rest.offset += rest.span(func(c byte) bool { return isNameByte(c) || c == '.' })
	digits := p.text[from:p.offset]
	n, err := Integer(digits)
	if plain := plainForm(p.text[from:rest.offset]); plain != "" && (err != nil || rest.offset > p.offset) {
		return nil, notPlain(from, p.text[from:rest.offset], plain)
	}
	if err != nil {
		return nil, &SyntaxError{Offset: from, Msg: digits + " does not fit in 64 bits", Overflow: true}
	}
	p.next()
	return Int(n), nil
}

func notPlain(at int, text, plain string) *SyntaxError {
	return &SyntaxError{Offset: at, Msg: fmt.Sprintf("%q is not a plain decimal integer", text), Plain: plain}
}

func (p *parser) unexpected(want string) *SyntaxError {
	if p.tok.kind == tokenEnd {
		return &SyntaxError{Offset: p.tok.offset, Msg: fmt.Sprintf("the expression ends where %s should stand", want)}
	}
	return &SyntaxError{Offset: p.tok.offset, Msg: fmt.Sprintf("%q stands where %s should", p.tok.text, want)}
}
