package model

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// parseOp parses "out = name(arg, ..., attribute=value, ...)", where several results have commas between them. A value is
// an expression, a name, or a list of them in brackets. After a syntax error, parseOp returns nil and the diagnostic.
func parseOp(t text, list *diag.List) (*sourceOp, *diag.Diagnostic) {
	p := &opParser{t: t}
	op := p.parse()
	if op != nil {
		return op, nil
	}
	d := list.Add(p.failedAt, diag.OpSyntax, "%s", p.failure)
	if p.hint == "" {
		p.hint = "an operation is written C = matmul(A, B)"
	}
	return nil, d.WithHint("%s", p.hint)
}

// unclosedOp is the error of an operation without a closing parenthesis.
const unclosedOp = `"(" is never closed`

type opParser struct {
	t        text
	at       int
	failedAt diag.Pos
	failure  string
	hint     string
}

func (p *opParser) parse() *sourceOp {
	op := &sourceOp{pos: p.t.pos}
	var ok bool
	if op.out, ok = p.word("the name of the result"); !ok {
		return nil
	}
	for p.skipSpace(); p.at < len(p.t.value) && p.t.value[p.at] == ','; p.skipSpace() {
		p.at++
		more, ok := p.word("the name of a result")
		if !ok {
			return nil
		}
		op.more = append(op.more, more)
	}
	if !p.expect('=', "the result") {
		return nil
	}
	if op.fn, ok = p.word("the operation"); !ok {
		return nil
	}
	if !p.expect('(', "the operation "+op.fn.value) {
		return nil
	}
	if !p.arguments(op) {
		return nil
	}
	p.skipSpace()
	if p.at < len(p.t.value) {
		p.fail(p.at, "there is more text after the operation")
		return nil
	}
	return op
}

// arguments reads up to the closing parenthesis. Like argument and word, it returns false after a syntax error.
func (p *opParser) arguments(op *sourceOp) bool {
	open := p.at - 1
	for {
		piece, end, ok := p.piece()
		if !ok {
			p.fail(open, unclosedOp)
			return false
		}
		switch {
		case piece.value != "":
			if !p.argument(op, piece) {
				return false
			}
		case end == ',' || len(op.args)+len(op.attrs) > 0:
			p.fail(p.at-1, "an argument is missing")
			return false
		}
		if end == ')' {
			return true
		}
	}
}

// piece returns the text up to the next comma or closing parenthesis outside inner parentheses and brackets, and that
// character. ok is false if there is none.
func (p *opParser) piece() (piece text, end byte, ok bool) {
	depth, from := 0, p.at
	for ; p.at < len(p.t.value); p.at++ {
		switch c := p.t.value[p.at]; {
		case depth == 0 && (c == ',' || c == ')'):
			p.at++
			return trim(p.t.slice(from, p.at-1)), c, true
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
	}
	return text{}, 0, false
}

// argument parses a piece: a tensor, a list of tensors, or an attribute with its value.
func (p *opParser) argument(op *sourceOp, piece text) bool {
	name, value, found := cut(piece, '=')
	if !found && strings.HasPrefix(piece.value, "[") && strings.HasSuffix(piece.value, "]") {
		if attr := attributesOfLists[op.fn.value]; attr != "" && len(op.args) > 0 {
			p.failedAt, p.failure, p.hint = piece.pos, "the list of "+op.fn.value+" is an attribute", "write "+attr+"="+piece.value
			return false
		}
		op.args = append(op.args, splitList(piece.slice(1, len(piece.value)-1))...) // concat([A, B], axis=0)
		return true
	}
	if !found {
		if i := strings.IndexByte(piece.value, '('); i >= 0 {
			p.failedAt, p.failure = piece.pos, fmt.Sprintf("an operation stands where a tensor should: %q", piece.value)
			p.hint = "operations are not nested: give the inner result a name in a line of its own"
			return false
		}
		op.args = append(op.args, piece)
		return true
	}
	attr := sourceAttr{name: name}
	if strings.HasPrefix(value.value, "[") {
		if !strings.HasSuffix(value.value, "]") {
			p.failedAt, p.failure = value.pos, `"[" is never closed`
			return false
		}
		attr.list = true
		attr.values = splitList(value.slice(1, len(value.value)-1))
	} else {
		attr.values = []text{value}
	}
	op.attrs = append(op.attrs, attr)
	return true
}

// word reads a run of characters that are neither space nor punctuation.
func (p *opParser) word(what string) (text, bool) {
	p.skipSpace()
	n := strings.IndexAny(p.t.value[p.at:], " \t\n=(),[]")
	if n < 0 {
		n = len(p.t.value) - p.at
	}
	if n == 0 {
		p.fail(p.at, what+" is missing")
		return text{}, false
	}
	p.at += n
	return p.t.slice(p.at-n, p.at), true
}

func (p *opParser) expect(c byte, after string) bool {
	p.skipSpace()
	if p.at < len(p.t.value) && p.t.value[p.at] == c {
		p.at++
		return true
	}
	p.fail(p.at, after+" is not followed by \""+string(c)+"\"")
	return false
}

func (p *opParser) skipSpace() {
	for p.at < len(p.t.value) && isBlank(p.t.value[p.at]) {
		p.at++
	}
}

func (p *opParser) fail(at int, message string) {
	p.failedAt, p.failure = p.t.at(at), message
}

// trim removes the white space around t.
func trim(t text) text {
	from, to := 0, len(t.value)
	for from < to && isBlank(t.value[from]) {
		from++
	}
	for to > from && isBlank(t.value[to-1]) {
		to--
	}
	return t.slice(from, to)
}

// cut splits t at the first c and trims both parts. found is false if t has no c.
func cut(t text, c byte) (before, after text, found bool) {
	i := strings.IndexByte(t.value, c)
	if i < 0 {
		return t, text{}, false
	}
	return trim(t.slice(0, i)), trim(t.slice(i+1, len(t.value))), true
}

// splitList splits t at its commas and trims the parts. It returns nil for an empty text.
func splitList(t text) []text {
	var parts []text
	from := 0
	for i := range len(t.value) + 1 {
		if i == len(t.value) || t.value[i] == ',' {
			parts = append(parts, trim(t.slice(from, i)))
			from = i + 1
		}
	}
	if len(parts) == 1 && parts[0].value == "" {
		return nil
	}
	return parts
}
