package diag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxRendered is the largest number of diagnostics that one report prints. Thousands of
	// mistakes usually have one cause, which the first lines show.
	maxRendered = 50
	// maxLineRunes is the most runes of a source line that a report shows around the caret.
	maxLineRunes = 120
)

// Render writes a report of the first 50 diagnostics. It prints each as the first line ("file:line:col: error HG031:
// message"), the source line with a caret below the column, the hint and the notes. source returns the text of a file by
// its name in positions. If source is nil or returns false, the report has no source line.
func Render(w io.Writer, errs *Errors, source func(file string) ([]byte, bool)) {
	for i, d := range errs.Items {
		if i == maxRendered {
			fmt.Fprintf(w, "... and %d more errors\n", len(errs.Items)-i)
			return
		}
		fmt.Fprintln(w, d.Error())
		renderSource(w, d.Pos, source)
		if d.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", d.Hint)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(w, "  note: %s\n", join(n.Pos, n.Message))
		}
	}
}

// Diagnostics returns the first *Errors that err is or wraps, or else the first *Diagnostic as a list, and whether there is
// one.
func Diagnostics(err error) (*Errors, bool) {
	var all *Errors
	if errors.As(err, &all) {
		return all, true
	}
	var one *Diagnostic
	if errors.As(err, &one) {
		return &Errors{Items: []*Diagnostic{one}}, true
	}
	return nil, false
}

// Rename replaces a file name in every position. A spec is loaded under its base name, so that its folder does not
// change the generated files. A report to the user has the path that the user typed.
func (e *Errors) Rename(from, to string) {
	for _, d := range e.Items {
		if d.Pos.File == from {
			d.Pos.File = to
		}
		for i := range d.Notes {
			if d.Notes[i].Pos.File == from {
				d.Notes[i].Pos.File = to
			}
		}
	}
}

// AddNote adds a note to d and returns d. The position of the note may be the zero Pos.
func (d *Diagnostic) AddNote(pos Pos, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{Pos: pos, Message: fmt.Sprintf(format, args...)})
	return d
}

// WithHint sets the hint of d and returns d.
func (d *Diagnostic) WithHint(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

func join(pos Pos, message string) string {
	if s := pos.String(); s != "" {
		return s + ": " + message
	}
	return message
}

// renderSource prints the line at pos and a caret below its column. It leaves out what is unknown.
func renderSource(w io.Writer, pos Pos, source func(file string) ([]byte, bool)) {
	if source == nil || !pos.IsValid() {
		return
	}
	text, ok := source(pos.File)
	if !ok {
		return
	}
	line, ok := Line(text, pos.Line)
	if !ok {
		return
	}
	caret := 0
	if pos.Col > 0 {
		caret = utf8.RuneCount(line[:min(pos.Col-1, len(line))])
	}
	shown, caret := window([]rune(string(line)), caret)
	fmt.Fprintf(w, "    %s\n", strings.TrimRightFunc(string(shown), unicode.IsSpace))
	if pos.Col > 0 {
		fmt.Fprintf(w, "    %s^\n", blank(shown[:caret]))
	}
}

// Line returns line n (1-based) of a text without its line break, or false if the text has fewer lines.
func Line(text []byte, n int) ([]byte, bool) {
	for ; n > 1; n-- {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return nil, false
		}
		text = text[i+1:]
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return bytes.TrimSuffix(text, []byte("\r")), true
}

// window cuts a long line to the part around the caret, and replaces characters that a terminal does not print with "?".
// It returns the part and the index of the caret in this part.
func window(line []rune, caret int) ([]rune, int) {
	caret = min(caret, len(line))
	first := 0
	if caret > maxLineRunes/2 && len(line) > maxLineRunes {
		first = min(caret-maxLineRunes/2, len(line)-maxLineRunes)
	}
	shown := append([]rune(nil), line[first:min(first+maxLineRunes, len(line))]...)
	for i, r := range shown {
		if r != '\t' && !unicode.IsPrint(r) {
			shown[i] = '?'
		}
	}
	return shown, caret - first
}

// blank returns white space as wide as the text. It keeps tabs, so that the caret lines up.
func blank(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
