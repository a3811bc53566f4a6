package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// Source is one variant of an emitted program, line by line.
type Source struct {
	Path    string
	Program *calls.Program // program from which the file is printed
	Lines   []SourceLine
}

// SourceLine is a line of C++, and the innermost call IR statement that it prints. Stmt is nil outside of
// statements.
type SourceLine struct {
	Text string
	Stmt calls.Stmt
}

// Sources prints the program, and its fallback variant if it has one, as Render does, and maps each line to its
// statement.
func Sources(p *calls.Described, opt Options) ([]Source, error) {
	view, err := newProgramView(p, opt)
	if err != nil {
		return nil, err
	}
	var list []Source
	for _, variant := range view.variants() {
		printer, err := newPrinter(variant.Program)
		if err != nil {
			return nil, err
		}
		printer.marks = &marks{}
		text, err := printer.execute(programTemplate, variant)
		if err != nil {
			return nil, fmt.Errorf("printing %s: %w", variant.File, err)
		}
		list = append(list, Source{variant.File, variant.Program, printer.marks.lines(text)})
	}
	return list, nil
}

// Marks around the text of a statement during printing: characters that do not occur in a program.
const (
	markBegin = "\x01" // the number of the statement and markOpen follow
	markOpen  = "\x02"
	markEnd   = "\x03"
)

// marks are the statements with marked text. The index of a statement is its number in the mark.
type marks struct{ stmts []calls.Stmt }

// around marks the text of a statement. Without marks (nil), it returns the text.
func (m *marks) around(s calls.Stmt, text string) string {
	if m == nil {
		return text
	}
	m.stmts = append(m.stmts, s)
	return markBegin + strconv.Itoa(len(m.stmts)-1) + markOpen + text + markEnd
}

// lines removes the marks from a text, lays it out, and gives each line its statement.
func (m *marks) lines(text string) []SourceLine {
	var laid []string
	var from []calls.Stmt
	var open []calls.Stmt
	for line := range strings.SplitSeq(text, "\n") {
		plain, of := m.take(line, &open)
		for _, one := range layLine(laid, plain) {
			laid, from = append(laid, one), append(from, of)
		}
	}
	var list []SourceLine
	next := 0
	for _, line := range alignComments(laid) {
		of := from[min(next, len(from)-1)]
		list = append(list, SourceLine{line, of})
		// Alignment keeps the number and the order of the lines.
		if next < len(laid) && sameCode(line, laid[next]) {
			next++
		}
	}
	for len(list) > 0 && list[len(list)-1].Text == "" {
		list = list[:len(list)-1]
	}
	return list
}

// take returns a line without marks, and the innermost statement that begins on the line or continues there.
// open lists the statements whose text continues, outermost first.
func (m *marks) take(line string, open *[]calls.Stmt) (plain string, of calls.Stmt) {
	var b strings.Builder
	if n := len(*open); n > 0 {
		of = (*open)[n-1]
	}
	for line != "" {
		at := strings.IndexAny(line, markBegin+markEnd)
		if at < 0 {
			b.WriteString(line)
			break
		}
		b.WriteString(line[:at])
		if line[at:at+1] == markEnd {
			*open, line = (*open)[:len(*open)-1], line[at+1:]
			continue
		}
		number, rest, _ := strings.Cut(line[at+1:], markOpen)
		n, _ := strconv.Atoi(number)
		of, line = m.stmts[n], rest
		*open = append(*open, of)
	}
	return b.String(), of
}

// sameCode reports whether two lines have the same words. If b has a comment after its code, the same code is enough.
func sameCode(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ") || trailing(b) && codeOf(a) == codeOf(b) &&
		codeOf(a) != ""
}

func codeOf(line string) string {
	code, _ := splitComment(line)
	return strings.TrimSpace(code)
}
