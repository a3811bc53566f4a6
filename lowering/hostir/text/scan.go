package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// scanner reads one line. The first mistake sticks: every later call does nothing,
// so that the grammar reads without checks after each step.
type scanner struct {
	pos  diag.Pos // of the start of the line
	text string
	at   int // byte offset
	err  *diag.Diagnostic
}

func (s *scanner) failAt(at int, format string, args ...any) {
	if s.err != nil {
		return
	}
	for at < len(s.text) && (s.text[at] == ' ' || s.text[at] == '\t') {
		at++
	}
	pos := s.pos
	pos.Col = at + 1
	s.err = &diag.Diagnostic{Pos: pos, Code: diag.HostIRSyntax, Message: fmt.Sprintf(format, args...)}
}

func (s *scanner) fail(format string, args ...any) { s.failAt(s.at, format, args...) }

func (s *scanner) skipSpace() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// accept takes a piece of punctuation if it comes next.
func (s *scanner) accept(punct string) bool {
	s.skipSpace()
	if s.err != nil || !strings.HasPrefix(s.text[s.at:], punct) {
		return false
	}
	s.at += len(punct)
	return true
}

func (s *scanner) expect(punct string) {
	if s.err == nil && !s.accept(punct) {
		s.fail("%s stands where %q should", s.next(), punct)
	}
}

// next describes what comes next, for messages.
func (s *scanner) next() string {
	s.skipSpace()
	rest := s.text[s.at:]
	switch end := strings.IndexAny(rest, " \t"); {
	case rest == "":
		return "the end of the line"
	case end >= 0:
		rest = rest[:end]
	}
	return strconv.Quote(rest)
}

// peek is the name that comes next, or "".
func (s *scanner) peek() string { return s.word("") }

// word is the run of letters, digits and extra characters that comes next.
func (s *scanner) word(extra string) string {
	s.skipSpace()
	end := s.at
	for end < len(s.text) && (isLetter(s.text[end]) || end > s.at && (isDigit(s.text[end]) || strings.IndexByte(extra, s.text[end]) >= 0)) {
		end++
	}
	return s.text[s.at:end]
}

// IsName reports whether text can be the name of a tensor, a mesh, a parameter or a handle.
func IsName(text string) bool {
	s := &scanner{text: text}
	return text != "" && s.peek() == text
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// name takes an identifier; what says whose, for the message.
func (s *scanner) name(what string) string { return s.take(s.peek(), what) }

// spelling takes a name in which hyphens may stand, such as a backend's.
func (s *scanner) spelling(what string) string { return s.take(s.word("-"), what) }

func (s *scanner) take(word, what string) string {
	if s.err != nil {
		return ""
	}
	if word == "" {
		s.fail("%s stands where the name of %s should", s.next(), what)
	}
	s.at += len(word)
	return word
}

// acceptSpelling takes a given name in which hyphens stand, if it comes next.
func (s *scanner) acceptSpelling(name string) bool {
	if s.err != nil || s.word("-") != name {
		return false
	}
	s.at += len(name)
	return true
}

// keyword takes a given word.
func (s *scanner) keyword(word string) {
	if s.err == nil && !s.acceptWord(word) {
		s.fail("%s stands where %q should", s.next(), word)
	}
}

func (s *scanner) acceptWord(word string) bool {
	if s.err != nil || s.peek() != word {
		return false
	}
	s.at += len(word)
	return true
}

// integer takes a whole number, possibly negative.
func (s *scanner) integer() int64 {
	if s.err != nil {
		return 0
	}
	s.skipSpace()
	end := s.at
	for end < len(s.text) && (s.text[end] >= '0' && s.text[end] <= '9' || end == s.at && s.text[end] == '-') {
		end++
	}
	v, err := strconv.ParseInt(s.text[s.at:end], 10, 64)
	if err != nil {
		s.fail("%s stands where a whole number should", s.next())
		return 0
	}
	s.at = end
	return v
}

// small takes an integer that counts axes, ranks or streams.
func (s *scanner) small() int {
	at := s.at
	v := s.integer()
	if v < 0 || v > 1<<30 {
		s.failAt(at, "%d is out of range", v)
		return 0
	}
	return int(v)
}

// quoted takes a quoted string.
func (s *scanner) quoted() string {
	if s.err != nil {
		return ""
	}
	s.skipSpace()
	prefix, err := strconv.QuotedPrefix(s.text[s.at:])
	if err != nil {
		s.fail("%s stands where a quoted file name should", s.next())
		return ""
	}
	s.at += len(prefix)
	value, err := strconv.Unquote(prefix)
	if err != nil {
		s.fail("%s is no quoted string", prefix)
	}
	return value
}

// until takes the text up to the first of the stop bytes that is not inside
// parentheses.
func (s *scanner) until(stops string) (text string, at int) {
	s.skipSpace()
	at = s.at
	depth := 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		if depth == 0 && strings.IndexByte(stops, c) >= 0 {
			break
		}
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		s.at++
	}
	return strings.TrimRight(s.text[at:s.at], " \t"), at
}

// expression takes an expression up to one of the stop bytes.
func (s *scanner) expression(stops string) expr.Expr {
	if s.err != nil {
		return nil
	}
	text, at := s.until(stops)
	return s.parseExpr(text, at)
}

func (s *scanner) parseExpr(text string, at int) expr.Expr {
	e, err := expr.ParseHost(text)
	if err == nil {
		return e
	}
	offset := 0
	if syntax, ok := err.(*expr.SyntaxError); ok { //nolint:errorlint // it returns no other
		offset = syntax.Offset
	}
	s.failAt(at+offset, "%s", err.Error())
	return nil
}

// integers takes "[1, 0, 2]".
func (s *scanner) integers() []int64 {
	list := []int64{}
	s.expect("[")
	for s.err == nil && !s.accept("]") {
		if len(list) > 0 {
			s.expect(",")
		}
		list = append(list, s.integer())
	}
	return list
}

// axes takes "[1, 0, 2]" as numbers of axes.
func (s *scanner) axes() []int {
	at := s.at
	list := []int{}
	for _, v := range s.integers() {
		if v < 0 || v > 1<<10 {
			s.failAt(at, "%d is no axis", v)
			return nil
		}
		list = append(list, int(v))
	}
	return list
}

// trailer takes the position and the note that end a line.
func (s *scanner) trailer(file string) hostir.Info {
	info := hostir.Info{Pos: s.position(file)}
	if s.accept("#") {
		info.Note = strings.Join(strings.Fields(s.text[s.at:]), " ")
		s.at = len(s.text)
	}
	s.skipSpace()
	if s.at < len(s.text) {
		s.fail("%s is left over at the end of the line", s.next())
	}
	return info
}

// position takes "@line:col", "@line" or "@"file":line:col", if one comes next.
func (s *scanner) position(file string) diag.Pos {
	if !s.accept("@") {
		return diag.Pos{}
	}
	if s.at < len(s.text) && s.text[s.at] == '"' {
		file = s.quoted()
		s.expect(":")
	}
	at := s.at
	pos := diag.Pos{File: file, Line: s.small()}
	if s.at < len(s.text) && s.text[s.at] == ':' {
		s.at++
		pos.Col = s.small()
	}
	if s.err == nil && pos.Line == 0 {
		s.failAt(at, "lines are counted from 1")
	}
	return pos
}
