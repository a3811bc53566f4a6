package model

import (
	"bytes"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// lineTable maps between byte offsets and positions in the text of a spec.
type lineTable struct {
	file   string
	src    []byte
	starts []int // byte offset of each line
	// marks has, for each line that was asked for, the byte offset of every markEvery-th character. Without marks, counting
	// the characters before each key would take quadratic time if all keys are on one line.
	marks map[int][]int
}

// markEvery is the distance of two marks of a line, in characters.
const markEvery = 64

func newLineTable(file string, src []byte) *lineTable {
	t := &lineTable{file: file, src: src, starts: []int{0}, marks: map[int][]int{}}
	for i, c := range src {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// pos returns the position of a byte offset.
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

// offset returns the byte offset of a line and column, both from 1. The column counts characters, as the columns of the
// YAML library do.
func (t *lineTable) offset(line, column int) int {
	if line < 1 || line > len(t.starts) {
		return len(t.src)
	}
	marks := t.marksOf(line)
	mark := min(max(column-1, 0)/markEvery, len(marks)-1)
	at := marks[mark]
	for left := column - 1 - mark*markEvery; left > 0 && at < len(t.src); left-- {
		_, size := utf8.DecodeRune(t.src[at:])
		at += size
	}
	return at
}

// marksOf returns the marks of a line. The first mark is the start of the line, after a byte order mark.
func (t *lineTable) marksOf(line int) []int {
	if marks, known := t.marks[line]; known {
		return marks
	}
	at, end := t.starts[line-1], len(t.src)
	if line < len(t.starts) {
		end = t.starts[line]
	}
	if line == 1 {
		at += len(t.src) - len(bytes.TrimPrefix(t.src, byteOrderMark))
	}
	var marks []int
	for count := 0; count == 0 || at < end; count++ {
		if count%markEvery == 0 {
			marks = append(marks, at)
		}
		_, size := utf8.DecodeRune(t.src[at:])
		at += size
	}
	t.marks[line] = marks
	return marks
}

// node returns the position where n begins.
func (t *lineTable) node(n *yaml.Node) diag.Pos {
	return t.pos(t.offset(n.Line, n.Column))
}

// text returns a scalar with the position of each of its bytes.
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

// alignScalar finds the offset in src of every byte of a scalar's value and of its end. It walks through both texts
// and skips the parts of the source that the value lacks: quotes, escapes, and the line breaks and indentation of
// folded lines. A byte that it cannot locate gets the offset after the last byte that it located.
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
		skip, taken, size := 0, 1, 1 // bytes to skip in the source, and bytes of this step in the source and in the value
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

// escapeLength returns the length of the escape sequence at the start of src in a double-quoted scalar.
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

// skippedBefore counts the bytes of the source to skip before the byte c of the value. It skips the first of a
// doubled single quote, or a line break and the indentation after it.
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

// checkText returns false after it has reported that a spec is too large or is not plain text.
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
			// Some of these are line breaks in YAML but not in editors, so that line numbers would differ.
			list.Add(lines.pos(at), diag.NotText, "control character U+%04X is not allowed", r)
			return false
		}
		at += size
	}
	return true
}
