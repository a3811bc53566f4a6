package model

import (
	"strings"
	"unicode/utf8"
)

// print returns the text with all lines in the standard form.
func (f *formatter) print() []byte {
	for _, e := range f.entries {
		f.align(e.section)
	}
	var out strings.Builder
	blank := true // the previous line is blank, or there is none
	for line := 1; line <= len(f.text); line++ {
		text := strings.TrimRight(f.text[line-1], " \t")
		e := f.entries[line]
		switch {
		case e != nil && e.verbatim:
			f.shift(&out, e)
			line, blank = e.last, false
			continue
		case e != nil:
			text = e.text()
		case text == "":
			if blank {
				continue
			}
		case strings.HasPrefix(strings.TrimSpace(text), "#"):
			text = f.indent(f.commentColumn(line)) + strings.TrimSpace(text)
		}
		blank = text == ""
		out.WriteString(text + "\n")
	}
	return []byte(out.String())
}

func (f *formatter) indent(columns int) string { return strings.Repeat(" ", columns) }

// text returns the formatted line of an entry that is not verbatim, with its comment.
func (e *entry) text() string {
	code := e.code()
	if e.comment == "" {
		return code
	}
	gap := max(e.section.comments()-utf8.RuneCountInString(code), 2)
	return code + strings.Repeat(" ", gap) + e.comment
}

// code returns the line without its comment.
func (e *entry) code() string {
	line := strings.Repeat("  ", e.depth) + e.lead
	if e.value == "" {
		return line
	}
	if e.lead != "" {
		line += " "
	}
	return line + e.value
}

// comments returns the column of the comments of a section. It is the leftmost column of a comment in the source if all
// code with a comment ends at least two columns before it. Otherwise it is two columns after the longest such code.
func (s *section) comments() int {
	column, longest := 0, 0
	for _, e := range s.entries {
		if e.comment == "" || e.verbatim {
			continue
		}
		longest = max(longest, utf8.RuneCountInString(e.code())+2)
		if column == 0 || e.commentAt < column {
			column = e.commentAt
		}
	}
	return max(column, longest)
}

// align pads the leads of a section of tensors, so that the values start in one column. It ignores other sections.
func (f *formatter) align(s *section) {
	if s.key != "tensors" || s.aligned {
		return
	}
	s.aligned = true
	widest := 0
	for _, e := range s.entries {
		if e.value != "" {
			widest = max(widest, utf8.RuneCountInString(e.lead))
		}
	}
	for _, e := range s.entries {
		if e.value != "" {
			e.lead += strings.Repeat(" ", widest-utf8.RuneCountInString(e.lead))
		}
	}
}

// shift writes the lines of an entry. It changes only their indentation, and removes blanks at the end of the first line.
func (f *formatter) shift(out *strings.Builder, e *entry) {
	by := 2*e.depth - indentation(f.text[e.first-1])
	for line := e.first; line <= e.last; line++ {
		text := strings.TrimRight(f.text[line-1], " \t")
		if line > e.first {
			text = f.text[line-1] // spaces at the end may be part of a scalar
		}
		switch {
		case by > 0 && text != "":
			text = f.indent(by) + text
		case by < 0:
			text = text[min(-by, indentation(text)):]
		}
		out.WriteString(text + "\n")
	}
}

// commentColumn returns the indentation of a comment that has a line to itself. It equals the indentation of the next
// entry, unless the comment is indented more than that entry in the source. Then it equals the indentation of the last
// previous entry that is not indented more than the comment, or 0.
func (f *formatter) commentColumn(line int) int {
	column := indentation(f.text[line-1])
	for next := line + 1; next <= len(f.text); next++ {
		if e := f.entries[next]; e != nil {
			if column <= e.column {
				return 2 * e.depth
			}
			break
		}
	}
	for before := line - 1; before > 0; before-- {
		if e := f.entries[before]; e != nil && e.column <= column {
			return 2 * e.depth
		}
	}
	return 0
}
