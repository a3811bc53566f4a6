// Package scan reads the lines of host programs and call programs in text form.
package scan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Line reads one line. After the first mistake, most methods do nothing and return zero values, so that a parser need
// not check each step. To take text means to advance At to its end.
type Line struct {
	Pos  diag.Pos // of the start of the line
	Text string
	At   int              // byte offset of the text that is read next
	Err  *diag.Diagnostic // the first mistake, or nil
}

// FailAt sets Err to a mistake at a byte offset, after any spaces and tabs there. It keeps an earlier mistake.
func (s *Line) FailAt(at int, format string, args ...any) {
	if s.Err != nil {
		return
	}
	for at < len(s.Text) && (s.Text[at] == ' ' || s.Text[at] == '\t') {
		at++
	}
	pos := s.Pos
	pos.Col = at + 1
	s.Err = &diag.Diagnostic{Pos: pos, Code: diag.HostIRSyntax, Message: fmt.Sprintf(format, args...)}
}

// Fail is FailAt for the text that comes next.
func (s *Line) Fail(format string, args ...any) { s.FailAt(s.At, format, args...) }

// SkipSpace skips spaces and tabs.
func (s *Line) SkipSpace() {
	for s.At < len(s.Text) && (s.Text[s.At] == ' ' || s.Text[s.At] == '\t') {
		s.At++
	}
}

// Accept takes a piece of punctuation if it comes next, and reports whether it did.
func (s *Line) Accept(punct string) bool {
	s.SkipSpace()
	if s.Err != nil || !strings.HasPrefix(s.Text[s.At:], punct) {
		return false
	}
	s.At += len(punct)
	return true
}

// Expect takes a piece of punctuation, or fails if something else comes next.
func (s *Line) Expect(punct string) {
	if s.Err == nil && !s.Accept(punct) {
		s.Fail("%s stands where %q should", s.next(), punct)
	}
}

// next describes the next word, for messages.
func (s *Line) next() string {
	s.SkipSpace()
	rest := s.Text[s.At:]
	switch end := strings.IndexAny(rest, " \t"); {
	case rest == "":
		return "the end of the line"
	case end >= 0:
		rest = rest[:end]
	}
	return strconv.Quote(rest)
}

// Peek returns the name that comes next, or "", and does not take it.
func (s *Line) Peek() string { return s.Word("") }

// Word returns the run of letters, underscores, digits and extra characters that comes next, and does not take it. The
// run begins with a letter or an underscore; otherwise the result is empty.
func (s *Line) Word(extra string) string {
	s.SkipSpace()
	end := s.At
	for end < len(s.Text) && (isLetter(s.Text[end]) || end > s.At && (isDigit(s.Text[end]) || strings.IndexByte(extra, s.Text[end]) >= 0)) {
		end++
	}
	return s.Text[s.At:end]
}

// IsName reports whether text can be the name of a tensor, a mesh, a parameter or a handle.
func IsName(text string) bool {
	s := &Line{Text: text}
	return text != "" && s.Peek() == text
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// Name takes and returns a name. what describes the owner of the name in the message of a mistake.
func (s *Line) Name(what string) string { return s.take(s.Peek(), what) }

// Spelling takes and returns a name that may have hyphens, such as the name of a transport.
func (s *Line) Spelling(what string) string { return s.take(s.Word("-"), what) }

func (s *Line) take(word, what string) string {
	if s.Err != nil {
		return ""
	}
	if word == "" {
		s.Fail("%s stands where the name of %s should", s.next(), what)
	}
	s.At += len(word)
	return word
}

// Keyword takes a given word, or fails if something else comes next.
func (s *Line) Keyword(word string) {
	if s.Err == nil && !s.AcceptWord(word) {
		s.Fail("%s stands where %q should", s.next(), word)
	}
}

// AcceptWord takes a word if it comes next, and reports whether it did.
func (s *Line) AcceptWord(word string) bool {
	if s.Err != nil || s.Peek() != word {
		return false
	}
	s.At += len(word)
	return true
}

// AcceptSpelling is AcceptWord for a name that may have hyphens.
func (s *Line) AcceptSpelling(name string) bool {
	if s.Err != nil || s.Word("-") != name {
		return false
	}
	s.At += len(name)
	return true
}

// Integer takes and returns a whole number, possibly negative.
func (s *Line) Integer() int64 {
	if s.Err != nil {
		return 0
	}
	s.SkipSpace()
	end := s.At
	for end < len(s.Text) && (s.Text[end] >= '0' && s.Text[end] <= '9' || end == s.At && s.Text[end] == '-') {
		end++
	}
	v, err := expr.Integer(s.Text[s.At:end])
	if err != nil {
		s.Fail("%s stands where a whole number should", s.next())
		return 0
	}
	s.At = end
	return v
}

// Small takes and returns an integer from 0 to 2^30, such as a number of ranks or a line.
func (s *Line) Small() int {
	at := s.At
	v := s.Integer()
	if v < 0 || v > 1<<30 {
		s.FailAt(at, "%d is out of range", v)
		return 0
	}
	return int(v)
}

// Quoted takes a quoted string in the syntax of Go, and returns its value.
func (s *Line) Quoted() string {
	if s.Err != nil {
		return ""
	}
	s.SkipSpace()
	prefix, err := strconv.QuotedPrefix(s.Text[s.At:])
	if err != nil {
		s.Fail("%s stands where a quoted file name should", s.next())
		return ""
	}
	s.At += len(prefix)
	value, err := strconv.Unquote(prefix)
	if err != nil {
		s.Fail("%s is no quoted string", prefix)
	}
	return value
}

// Until takes the text up to the first stop byte outside parentheses, or to the end of the line. It returns the text
// without surrounding spaces, and the byte offset at which it begins.
func (s *Line) Until(stops string) (text string, at int) {
	s.SkipSpace()
	at = s.At
	depth := 0
	for s.At < len(s.Text) {
		c := s.Text[s.At]
		if depth == 0 && strings.IndexByte(stops, c) >= 0 {
			break
		}
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		s.At++
	}
	return strings.TrimRight(s.Text[at:s.At], " \t"), at
}

// Expression takes an expression that ends at one of the stop bytes or at the end of the line. It returns nil after a
// mistake.
func (s *Line) Expression(stops string) expr.Expr {
	if s.Err != nil {
		return nil
	}
	text, at := s.Until(stops)
	return s.ParseExpr(text, at)
}

// ParseExpr parses a text of the line that begins at byte offset at. It fails and returns nil if the text is not an
// expression.
func (s *Line) ParseExpr(text string, at int) expr.Expr {
	e, err := expr.ParseHost(text)
	if err == nil {
		return e
	}
	offset := 0
	if syntax, ok := err.(*expr.SyntaxError); ok { //nolint:errorlint // it returns no other
		offset = syntax.Offset
	}
	s.FailAt(at+offset, "%s", err.Error())
	return nil
}

// List takes a list such as "[x, y]" or "[]", and returns its elements. element takes one element.
func List[T any](s *Line, element func() T) []T {
	list := []T{}
	s.Expect("[")
	for s.Err == nil && !s.Accept("]") {
		if len(list) > 0 {
			s.Expect(",")
		}
		list = append(list, element())
	}
	return list
}

// Note takes the rest of the line: nothing, or a note after "#", which it returns with single spaces between words. Other
// text is a mistake.
func (s *Line) Note() (note string) {
	if s.Accept("#") {
		note = strings.Join(strings.Fields(s.Text[s.At:]), " ")
		s.At = len(s.Text)
	}
	s.SkipSpace()
	if s.At < len(s.Text) {
		s.Fail("%s is left over at the end of the line", s.next())
	}
	return note
}

// Position takes "@line:col", "@line" or one of these with a file, such as "@"file":line:col", if it comes next.
// Otherwise it returns the zero position. file is the file of positions that have none.
func (s *Line) Position(file string) diag.Pos {
	if !s.Accept("@") {
		return diag.Pos{}
	}
	if s.At < len(s.Text) && s.Text[s.At] == '"' {
		file = s.Quoted()
		s.Expect(":")
	}
	at := s.At
	pos := diag.Pos{File: file, Line: s.Small()}
	if s.At < len(s.Text) && s.Text[s.At] == ':' {
		s.At++
		pos.Col = s.Small()
	}
	if s.Err == nil && pos.Line == 0 {
		s.FailAt(at, "lines are counted from 1")
	}
	return pos
}

// FormatPosition prints " @line:col", without an unknown column, and with the name of the position's file if it is not
// the given file. It returns an empty string for an unknown position.
func FormatPosition(pos diag.Pos, file string) string {
	if !pos.IsValid() {
		return ""
	}
	text := " @"
	if pos.File != file {
		text += strconv.Quote(pos.File) + ":"
	}
	text += strconv.Itoa(pos.Line)
	if pos.Col > 0 {
		text += ":" + strconv.Itoa(pos.Col)
	}
	return text
}
