package model

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// inline formats a scalar or a flow collection after the lead of an entry. It keeps a value that spans lines.
func (f *formatter) inline(e *entry, n *yaml.Node, isOperation bool) {
	begin := f.lines.offset(n.Line, n.Column)
	end, known := f.end(n, begin)
	if e.section == nil { // the whole document
		e.section = &section{}
		e.section.entries = []*entry{e}
		e.first, e.last, e.column = n.Line, n.Line, n.Column-1
		f.entries[e.first] = e
	}
	last := f.lines.pos(max(end-1, begin)).Line
	if !known || n.Line != e.first || last != e.first {
		e.last, e.verbatim = max(last, e.first), true
		return
	}
	f.rest(e, end)
	switch {
	case e.verbatim:
	case isOperation && n.Kind == yaml.ScalarNode && n.Style == 0:
		e.value = spaced(n.Value)
	default:
		e.value = f.flow(n)
	}
}

// end returns the byte offset after a node that begins at offset begin. known is false for a block scalar, a plain scalar
// of several lines, or a node whose end is not found.
func (f *formatter) end(n *yaml.Node, begin int) (end int, known bool) {
	src := f.lines.src
	switch {
	case begin >= len(src):
		return len(src), false
	case n.Kind != yaml.ScalarNode:
		return closingBracket(src, begin)
	case n.Style == yaml.DoubleQuotedStyle || n.Style == yaml.SingleQuotedStyle:
		at := closingQuote(src, begin)
		return min(at+1, len(src)), at > begin
	case n.Style == yaml.LiteralStyle || n.Style == yaml.FoldedStyle:
		return f.blockEnd(n), false
	}
	end = begin + len(n.Value)
	if end <= len(src) && string(src[begin:end]) == n.Value {
		return end, true
	}
	return f.blockEnd(n), false // a plain scalar of several lines
}

// closingBracket returns the offset after the bracket that closes the bracket at an offset. known is false if there is
// none.
func closingBracket(src []byte, at int) (end int, known bool) {
	depth := 0
	for ; at < len(src); at++ {
		switch c := src[at]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return at + 1, true
			}
		case (c == '"' || c == '\'') && startsScalar(src, at):
			if at = closingQuote(src, at); at < 0 {
				return len(src), false
			}
		case c == '#' && at > 0 && (src[at-1] == ' ' || src[at-1] == '\n'):
			for at+1 < len(src) && src[at+1] != '\n' {
				at++
			}
		}
	}
	return len(src), false
}

// startsScalar reports whether a scalar of a flow collection begins at an offset: after a bracket, a comma or a colon.
func startsScalar(src []byte, at int) bool {
	before := strings.TrimRight(string(src[max(at-markEvery, 0):at]), " \t\n")
	return before == "" || strings.ContainsRune("[{,:", rune(before[len(before)-1]))
}

// blockEnd returns the byte offset after the last line of a scalar. Its later lines are indented more than its first
// line.
func (f *formatter) blockEnd(n *yaml.Node) int {
	outer := indentation(f.text[n.Line-1])
	last := n.Line
	for line := n.Line + 1; line <= len(f.text); line++ {
		if strings.TrimSpace(f.text[line-1]) == "" {
			continue
		}
		if indentation(f.text[line-1]) <= outer {
			break
		}
		last = line
	}
	return f.lines.starts[last-1] + len(f.text[last-1])
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// flow prints a node on one line.
func (f *formatter) flow(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, strings.TrimRight(f.flow(n.Content[i])+": "+f.flow(n.Content[i+1]), " "))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, f.flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return f.scalar(n)
	}
}

// scalar returns a scalar as in the source, or its value if its end in the source is not known.
func (f *formatter) scalar(n *yaml.Node) string {
	begin := f.lines.offset(n.Line, n.Column)
	if end, known := f.end(n, begin); known {
		return string(f.lines.src[begin:end])
	}
	return n.Value
}

// spaced returns the text of an operation with uniform spaces. It returns other text unchanged.
func spaced(operation string) string {
	op, d := parseOp(text{value: operation}, &diag.List{})
	if d != nil {
		return operation
	}
	return op.spelled()
}
