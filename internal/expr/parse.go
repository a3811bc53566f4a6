package expr

import (
	"fmt"
	"strconv"
)

const (
	// maxDepth bounds nested parentheses.
	maxDepth = 64
	// maxLength bounds the text of an expression, which ends up in generated files.
	maxLength = 4096
)

// SyntaxError is what Parse returns for text that is no expression.
type SyntaxError struct {
	Offset   int // byte offset into the text
	Msg      string
	Overflow bool // a number does not fit in 64 bits
}

func (e *SyntaxError) Error() string { return e.Msg }

// precedence of the binary operators; all associate to the left.
var precedence = map[string]int{"^": 1, "==": 2, "!=": 2, "<": 2, ">=": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4}

// Parse reads an expression of a spec. The whole text has to be one; an error is a
// *SyntaxError.
func Parse(text string) (Expr, error) { return parse(text, false) }

// ParseHost reads an expression of a host program, which may have "^", as Parse does one of a
// spec.
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

// binary parses operators of at least the given precedence.
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
		p.next()
		return parseInt(tok, tok.text)
	case tok.kind == tokenName:
		p.next()
		return Var(tok.text), nil
	case tok.kind == tokenOp && tok.text == "-":
		p.next()
		if p.tok.kind != tokenInt {
			return nil, p.unexpected("a number after the sign")
		}
		digits := p.tok.text
		p.next()
		return parseInt(tok, "-"+digits)
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

func parseInt(at token, digits string) (Expr, error) {
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, &SyntaxError{Offset: at.offset, Msg: digits + " does not fit in 64 bits", Overflow: true}
	}
	return Int(v), nil
}

func (p *parser) unexpected(want string) *SyntaxError {
	if p.tok.kind == tokenEnd {
		return &SyntaxError{Offset: p.tok.offset, Msg: fmt.Sprintf("the expression ends where %s should stand", want)}
	}
	return &SyntaxError{Offset: p.tok.offset, Msg: fmt.Sprintf("%q stands where %s should", p.tok.text, want)}
}
