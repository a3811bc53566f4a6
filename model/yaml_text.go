package model

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/diag"
)

// lineTable finds places in the text of a spec.
type lineTable struct {
	file   string
	src    []byte
	starts []int // byte offset of each line
}

func newLineTable(file string, src []byte) *lineTable {
	t := &lineTable{file: file, src: src, starts: []int{0}}
	for i, c := range src {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// pos is the position of a byte offset.
func (t *lineTable) pos(offset int) diag.Pos {
	lo, hi := 0, len(t.starts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; t.starts[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return diag.Pos{File: t.file, Line: lo + 1, Col: offset - t.starts[lo] + 1}
}

// offset is the byte offset of a line and of a column that counts characters, as
// the columns of the YAML library do.
func (t *lineTable) offset(line, column int) int {
	if line < 1 || line > len(t.starts) {
		return len(t.src)
	}
	at := t.starts[line-1]
	if line == 1 {
		at += len(t.src) - len(bytes.TrimPrefix(t.src, byteOrderMark))
	}
	for ; column > 1 && at < len(t.src); column-- {
		_, size := utf8.DecodeRune(t.src[at:])
		at += size
	}
	return at
}

// node is the position where n begins.
func (t *lineTable) node(n *yaml.Node) diag.Pos {
	return t.pos(t.offset(n.Line, n.Column))
}

// text is a scalar with the place of each of its bytes.
func (t *lineTable) text(n *yaml.Node) text {
	begin := t.offset(n.Line, n.Column)
	var places []int
	return text{value: n.Value, pos: t.pos(begin), place: func(offset int) diag.Pos {
		if places == nil {
			places = alignScalar(n, t.src, begin)
		}
		return t.pos(places[min(offset, len(places)-1)])
	}}
}

// alignScalar finds the offset in src of every byte of a scalar's value and of its
// end. It walks both texts at once and steps over what the value lacks: the quotes,
// escapes, and the line breaks and indentation of folded lines. A byte that it
// cannot place gets the place of the byte before it.
func alignScalar(n *yaml.Node, src []byte, begin int) []int {
	places := make([]int, 0, len(n.Value)+1)
	at := begin
	switch n.Style {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		at++
	case yaml.LiteralStyle, yaml.FoldedStyle:
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			at += i + 1
			at += leadingBlanks(src[at:])
		}
	default: // a plain scalar begins with its value
	}
	for i := 0; i < len(n.Value); {
		skip, taken, size := 0, 1, 1 // bytes of the source before, of the source, of the value
		if n.Style == yaml.DoubleQuotedStyle && at < len(src) && src[at] == '\\' {
			_, size = utf8.DecodeRuneInString(n.Value[i:])
			taken = escapeLength(src[at:])
		} else {
			skip = skippedBefore(src, at, n.Value[i])
		}
		at += skip
		for range size {
			places = append(places, min(at, len(src)))
		}
		if taken > 1 || at < len(src) && (src[at] == n.Value[i] || n.Value[i] == ' ' || n.Value[i] == '\n') {
			at += taken
		}
		i += size
	}
	return append(places, min(at, len(src)))
}

// escapeLength is the length of the escape that a double-quoted scalar has here.
func escapeLength(src []byte) int {
	if len(src) < 2 {
		return 1
	}
	switch src[1] {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	default:
		return 2
	}
}

// skippedBefore counts the bytes of the source that stand for nothing before the byte c
// of the value: the first of a doubled single quote, or a line break with the
// indentation that follows.
func skippedBefore(src []byte, at int, c byte) int {
	switch {
	case at+1 >= len(src):
		return 0
	case src[at] == c:
		if c == '\'' && src[at+1] == '\'' {
			return 1
		}
		return 0
	case c != ' ' && c != '\n' && isBlank(src[at]):
		return leadingBlanks(src[at:])
	}
	return 0
}

func leadingBlanks(src []byte) int {
	return len(src) - len(bytes.TrimLeft(src, " \t\r\n"))
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// checkText refuses what is too large or is no text before the parser sees it.
func checkText(file string, src []byte, list *diag.List) bool {
	if len(src) > MaxSpecSize {
		list.Add(diag.Pos{File: file}, diag.TooLarge, "the spec is larger than %d KiB", MaxSpecSize>>10).
			WithHint("is it a spec at all? a pipeline of 10,000 operations takes about 400 KiB")
		return false
	}
	lines := newLineTable(file, src)
	for at := 0; at < len(src); {
		r, size := utf8.DecodeRune(src[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			list.Add(lines.pos(at), diag.NotText, "byte 0x%02x is not UTF-8 text", src[at])
			return false
		case r < ' ' && r != '\n' && r != '\t' && (r != '\r' || !bytes.HasPrefix(src[at:], []byte("\r\n"))),
			r == 0x7f, r >= 0x80 && r < 0xa0, r == 0x2028, r == 0x2029:
			// Among these are the line breaks that YAML knows and editors do not
			// count: lines would have other numbers here than there.
			list.Add(lines.pos(at), diag.NotText, "control character U+%04X is not allowed", r)
			return false
		}
		at += size
	}
	return true
}

// What the library says.
var (
	libraryLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// reportSyntax turns an error of the YAML parser, which names a line at best, into a
// diagnostic that points at the cause where that can be found.
func reportSyntax(lines *lineTable, err error, list *diag.List) {
	if offset, fault := unbalanced(lines.src); fault != "" {
		list.Add(lines.pos(offset), diag.YAMLSyntax, "%s", fault)
		return
	}
	if offset, ok := tabIndent(lines.src); ok {
		list.Add(lines.pos(offset), diag.YAMLSyntax, "a tab indents this line").WithHint("YAML is indented with spaces")
		return
	}
	message := err.Error()
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		list.Add(lines.pos(max(bytes.Index(lines.src, []byte("*"+m[1])), 0)), diag.AliasUsed, "alias %q is used; a spec has no aliases", "*"+m[1]).
			WithHint("write the value out, or make it a parameter")
		return
	}
	pos := diag.Pos{File: lines.file, Line: 1, Col: 1}
	if m := libraryLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil && n <= len(lines.starts) {
			pos.Line = n
			at := lines.starts[n-1]
			pos.Col = 1 + leadingBlanks(lines.src[at:])
		}
	}
	if !strings.Contains(message, "mapping values are not allowed") {
		list.Add(pos, diag.YAMLSyntax, "the YAML cannot be read: %s", message)
		return
	}
	line, _ := diag.Line(lines.src, pos.Line)
	if colon := bytes.LastIndex(line, []byte(": ")); colon >= 0 {
		pos.Col = colon + 1
	}
	list.Add(pos, diag.YAMLSyntax, "a value cannot be followed by \":\"").
		WithHint("a value that holds \": \" has to be quoted; a field has to be indented as its neighbours are")
}

// unbalanced finds the innermost bracket or quote that is still open at the end of the
// text, or a closing bracket that closes nothing. It knows comments, quotes and the
// places where a quote or bracket begins a value.
func unbalanced(src []byte) (offset int, fault string) {
	var stack []int // offsets of open brackets
	for at := 0; at < len(src); at++ {
		c := src[at]
		begins := at == 0 || bytes.IndexByte([]byte(" \t\n[{,:"), src[at-1]) >= 0
		switch {
		case c == '#' && (at == 0 || isBlank(src[at-1])):
			for at < len(src) && src[at] != '\n' {
				at++
			}
		case (c == '"' || c == '\'') && begins:
			end := closingQuote(src, at)
			if end < 0 {
				return at, "the quote " + string(c) + " is never closed"
			}
			at = end
		case (c == '[' || c == '{') && (len(stack) > 0 || begins):
			stack = append(stack, at)
		case (c == ']' || c == '}') && len(stack) > 0:
			top := stack[len(stack)-1]
			switch opener := c - 2; { // in ASCII ']' is '[' + 2, and '}' is '{' + 2
			case src[top] == opener:
				stack = stack[:len(stack)-1]
			case slices.ContainsFunc(stack, func(at int) bool { return src[at] == opener }):
				return top, fmt.Sprintf("%q is never closed", string(src[top]))
			default:
				return at, fmt.Sprintf("%q closes nothing", string(c))
			}
		}
	}
	if len(stack) == 0 {
		return 0, ""
	}
	top := stack[len(stack)-1]
	return top, fmt.Sprintf("%q is never closed", string(src[top]))
}

// closingQuote is the offset of the quote that ends the scalar that starts at at.
func closingQuote(src []byte, at int) int {
	quote := src[at]
	for at++; at < len(src); at++ {
		switch {
		case quote == '"' && src[at] == '\\':
			at++
		case src[at] != quote:
		case quote == '\'' && at+1 < len(src) && src[at+1] == '\'':
			at++
		default:
			return at
		}
	}
	return -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// tabIndent finds a line that is indented with a tab.
func tabIndent(src []byte) (offset int, ok bool) {
	for at := 0; at < len(src); {
		line, _, _ := bytes.Cut(src[at:], []byte("\n"))
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if i := bytes.IndexByte(indent, '\t'); i >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return at + i, true
		}
		at += len(line) + 1
	}
	return 0, false
}
