package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// libraryLine and unknownAnchor match error messages of the YAML library.
var (
	libraryLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// maxSearched is the largest size, in bytes, of a text in which firstBadEnd searches the line of a syntax error.
const maxSearched = 64 << 10

// reportSyntax turns an error of the YAML parser into a diagnostic at the probable cause. The parser reports at most a
// line, which is often much later than the cause.
func reportSyntax(lines *lineTable, err error, list *diag.List) {
	var ends []int // byte offsets of the ends of lines after which no bracket is open
	offset, fault := unbalanced(lines.src, func(end int) { ends = append(ends, end) })
	if fault != "" {
		list.Add(lines.pos(offset), diag.YAMLSyntax, "%s", fault)
		return
	}
	if offset, ok := tabIndent(lines.src); ok {
		list.Add(lines.pos(offset), diag.YAMLSyntax, "a tab indents this line").WithHint("YAML is indented with spaces")
		return
	}
	message := err.Error()
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		list.Add(lines.pos(max(bytes.Index(lines.src, []byte("*"+m[1])), 0)), diag.AliasUsed,
			"alias %q is used; a spec has no aliases", "*"+m[1]).
			WithHint("write the value out, or make it a parameter")
		return
	}
	pos := diag.Pos{File: lines.file, Line: 1, Col: 1}
	if m := libraryLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			pos.Line = min(n, len(lines.starts))
		}
	}
	if end, ok := firstBadEnd(lines.src, ends); ok {
		pos.Line = lines.pos(end).Line
	}
	line, _ := diag.Line(lines.src, pos.Line)
	pos.Col = 1 + len(line) - len(bytes.TrimLeft(line, " \t"))
	if colon := bytes.LastIndex(line, []byte(": ")); colon >= 0 && strings.Contains(message, "mapping values are not allowed") {
		pos.Col = colon + 1
		list.Add(pos, diag.YAMLSyntax, "a value cannot be followed by \":\"").
			WithHint("a value that holds \": \" has to be quoted; a field has to be indented as its neighbours are")
		return
	}
	list.Add(pos, diag.YAMLSyntax, "the YAML cannot be read: %s", message).
		WithHint("is the line indented as its neighbours are, and does it hold one field or one element?")
}

// firstBadEnd finds the first of the given ends up to which the text has a syntax error. Text after an error cannot
// repair it, so a binary search is possible. ok is false without such an end, or if src is larger than maxSearched.
func firstBadEnd(src []byte, ends []int) (int, bool) {
	if len(src) > maxSearched {
		return 0, false
	}
	i := sort.Search(len(ends), func(i int) bool {
		var node yaml.Node
		err := decodeNode(yaml.NewDecoder(bytes.NewReader(src[:ends[i]])), &node)
		return err != nil && !errors.Is(err, io.EOF)
	})
	if i == len(ends) {
		return 0, false
	}
	return ends[i], true
}

// unbalanced finds the innermost bracket or quote that is still open at the end of the text, or a closing bracket without
// an opening bracket. It returns the byte offset and a message, which is empty if there is none. It ignores brackets in
// comments and quotes, and quotes and brackets within plain text. It calls lineEnd for the end of each line where no
// bracket is open.
func unbalanced(src []byte, lineEnd func(offset int)) (offset int, fault string) {
	var stack []int // offsets of open brackets
	for at := 0; at < len(src); at++ {
		c := src[at]
		begins := at == 0 || bytes.IndexByte([]byte(" \t\n[{,:"), src[at-1]) >= 0
		switch {
		case c == '\n' && len(stack) == 0:
			lineEnd(at)
		case c == '#' && (at == 0 || isBlank(src[at-1])):
			for at+1 < len(src) && src[at+1] != '\n' {
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
		lineEnd(len(src))
		return 0, ""
	}
	top := stack[len(stack)-1]
	return top, fmt.Sprintf("%q is never closed", string(src[top]))
}

// closingQuote returns the offset of the quote that closes the scalar at an offset, or -1 if there is none.
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

// tabIndent returns the byte offset of the first tab that indents a line. ok is false if there is none.
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
