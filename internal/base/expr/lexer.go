package expr

import "unicode/utf8"

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenInt
	tokenName
	tokenOp
	tokenOpen
	tokenClose
	tokenOther // a character that is not part of any other token
)

type token struct {
	kind   tokenKind
	text   string
	offset int
}

type lexer struct {
	text   string
	offset int
	bits   bool // "^", "<" and ">=" are operators
}

// scan returns the next token.
func (l *lexer) scan() token {
	for l.offset < len(l.text) && isSpace(l.text[l.offset]) {
		l.offset++
	}
	if l.offset == len(l.text) {
		return token{tokenEnd, "", l.offset}
	}
	switch c := l.text[l.offset]; {
	case isDigit(c):
		return l.take(tokenInt, l.span(isDigit))
	case isLetter(c):
		return l.take(tokenName, l.span(isNameByte))
	case c == '(':
		return l.take(tokenOpen, 1)
	case c == ')':
		return l.take(tokenClose, 1)
	case (c == '=' || c == '!' || c == '>' && l.bits) && l.offset+1 < len(l.text) && l.text[l.offset+1] == '=':
		return l.take(tokenOp, 2)
	case c == '+' || c == '-' || c == '*' || c == '/' || c == '%' || (c == '^' || c == '<') && l.bits:
		return l.take(tokenOp, 1)
	default:
		_, size := utf8.DecodeRuneInString(l.text[l.offset:])
		return l.take(tokenOther, size)
	}
}

func (l *lexer) take(kind tokenKind, length int) token {
	t := token{kind, l.text[l.offset : l.offset+length], l.offset}
	l.offset += length
	return t
}

// span returns how many bytes, from the offset up to the first byte that does not satisfy the function is.
func (l *lexer) span(is func(byte) bool) int {
	n := 0
	for l.offset+n < len(l.text) && is(l.text[l.offset+n]) {
		n++
	}
	return n
}

func isSpace(c byte) bool    { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isLetter(c byte) bool   { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) }

// Name is a name in the text of an expression.
type Name struct {
	Text   string
	Offset int // in bytes, from the start of the text
}

// Names lists the names in a text in order of appearance, with repetitions, so that
// a message can point at one of them. The text need not be a valid expression.
func Names(text string) []Name {
	var names []Name
	l := lexer{text: text}
	for t := l.scan(); t.kind != tokenEnd; t = l.scan() {
		if t.kind == tokenName {
			names = append(names, Name{t.text, t.offset})
		}
	}
	return names
}
