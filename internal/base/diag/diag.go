// Package diag has the error messages of hirgen: positions, diagnostics with stable codes, and the list that collects
// all diagnostics before any is reported.
//
// A message begins in lower case, unless it begins with a name from the spec, and has no final stop. Render prints it
// as "file:line:col: error HG031: message", followed by the source line, a caret, a hint and notes, as far as there
// are any.
package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Pos is a position in a spec or in a program in text form, or the call site of a builder method. The zero Pos is an
// unknown position and prints nothing.
type Pos struct {
	File string
	Line int // 1-based; 0 when unknown
	Col  int // 1-based, in bytes; 0 when unknown
}

// IsValid reports whether p points at a line.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String prints p as "file:line:col", without an unknown column, or as "file" if the line is unknown.
func (p Pos) String() string {
	switch {
	case !p.IsValid():
		return p.File
	case p.Col <= 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Before reports whether p comes before q in the order of file, line and column.
func (p Pos) Before(q Pos) bool {
	if p.File != q.File {
		return p.File < q.File
	}
	if p.Line != q.Line {
		return p.Line < q.Line
	}
	return p.Col < q.Col
}

// Diagnostic is one error: its position, code, message and remedy.
type Diagnostic struct {
	Pos     Pos
	Code    Code
	Message string
	Notes   []Note // explanations, such as the other side of a contradiction
	Hint    string // what to do; often the nearest name
}

// Note explains a diagnostic, usually by a second place. Without a place, its position is the zero Pos.
type Note struct {
	Pos     Pos
	Message string
}

// Error prints the first line of the report: the position, the code and the message.
func (d *Diagnostic) Error() string {
	prefix := ""
	if s := d.Pos.String(); s != "" {
		prefix = s + ": "
	}
	return fmt.Sprintf("%serror %s: %s", prefix, d.Code, d.Message)
}

// List collects diagnostics. The zero List is ready to use.
type List struct {
	items []*Diagnostic
}

// Add appends a diagnostic and returns it, so that notes and a hint can be set.
func (l *List) Add(pos Pos, code Code, format string, args ...any) *Diagnostic {
	d := (&Diagnostic{Pos: pos, Code: code}).Say(format, args...)
	l.items = append(l.items, d)
	return d
}

// Say sets the message of d and returns d. It cuts out the middle of a long message.
func (d *Diagnostic) Say(format string, args ...any) *Diagnostic {
	d.Message = shorten(fmt.Sprintf(format, args...))
	return d
}

// maxMessage is the length in bytes above which Say shortens a message to about this length. A message may quote a
// megabyte of a spec.
const maxMessage = 300

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	head, tail := message[:maxMessage*2/3], message[len(message)-maxMessage/3:]
	return strings.ToValidUTF8(head, "") + " ... " + strings.ToValidUTF8(tail, "")
}

// Append adds existing diagnostics, for example from another list.
func (l *List) Append(items ...*Diagnostic) { l.items = append(l.items, items...) }

// Len returns the number of diagnostics collected so far.
func (l *List) Len() int { return len(l.items) }

// Last returns the diagnostic that was added last. It panics if the list is empty.
func (l *List) Last() *Diagnostic { return l.items[len(l.items)-1] }

// Items returns the diagnostics sorted by position. Those of one position keep their order.
func (l *List) Items() []*Diagnostic {
	sorted := slices.Clone(l.items)
	slices.SortStableFunc(sorted, func(a, b *Diagnostic) int {
		switch {
		case a.Pos.Before(b.Pos):
			return -1
		case b.Pos.Before(a.Pos):
			return 1
		default:
			return 0
		}
	})
	return sorted
}

// Err returns nil for an empty list, and otherwise an *Errors.
func (l *List) Err() error {
	if l.Len() == 0 {
		return nil
	}
	return &Errors{Items: l.Items()}
}

// Errors is a non-empty list of diagnostics as an error. Render prints a report of it.
type Errors struct {
	Items []*Diagnostic
}

// Error prints the first line of every diagnostic.
func (e *Errors) Error() string {
	text := ""
	for i, d := range e.Items {
		if i > 0 {
			text += "\n"
		}
		text += d.Error()
	}
	return text
}
