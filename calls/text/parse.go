package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/scan"
)

// Parse parses the text form of a program. The error is a *diag.Errors with the first mistake.
func Parse(file, text string) (*calls.Program, error) {
	r := &reader{file: file, lines: strings.Split(strings.TrimRight(text, "\n"), "\n"), program: &calls.Program{}}
	r.header()
	for r.err == nil && r.at < len(r.lines) && r.lines[r.at] != "" {
		r.declaration()
	}
	r.at++
	r.program.Body = r.body("")
	r.life()
	if r.err == nil && r.at < len(r.lines) {
		r.nothing()
	}
	if r.err != nil {
		var list diag.List
		list.Append(r.err)
		return nil, list.Err()
	}
	return r.program, nil
}

// reader parses lines, and keeps the first error. at is the index of the current line.
type reader struct {
	file    string
	lines   []string
	at      int
	program *calls.Program
	err     *diag.Diagnostic
}

// nothing reports an error for a line that belongs to no statement and no section.
func (r *reader) nothing() {
	if strings.HasPrefix(r.lines[r.at], " ") {
		r.fail(0, "this line is indented, and stands in nothing")
		return
	}
	r.fail(0, "neither a statement nor a section of the program starts here")
}

func (r *reader) fail(col int, format string, args ...any) {
	if r.err == nil {
		pos := diag.Pos{File: r.file, Line: r.at + 1, Col: col + 1}
		r.err = &diag.Diagnostic{Pos: pos, Code: diag.HostIRSyntax, Message: fmt.Sprintf(format, args...)}
	}
}

// header parses the lines before the declarations.
func (r *reader) header() {
	p := r.program
	rest, ok := strings.CutPrefix(r.lines[0], "calls ")
	name, quoted, ok2 := strings.Cut(rest, " from ")
	file, err := strconv.Unquote(quoted)
	if !ok || !ok2 || err != nil {
		r.fail(0, "a program starts with: calls NAME from \"FILE\"")
		return
	}
	p.Name, p.File = name, file
	for r.at = 1; r.at < len(r.lines); r.at++ {
		text := r.lines[r.at]
		if count, ok := strings.CutPrefix(text, "streams "); ok {
			if p.Streams, err = strconv.Atoi(count); err != nil || p.Streams < 0 {
				r.fail(len("streams "), "%q is no number of streams", count)
			}
		} else if p.Graph = p.Graph || text == "capture graph"; text != "capture graph" {
			return
		}
	}
}

// line returns a scanner of the current line that begins at a column, counted from 0.
func (r *reader) line(col int) *scan.Line {
	return &scan.Line{Pos: diag.Pos{File: r.file, Line: r.at + 1}, Text: r.lines[r.at], At: col}
}

// declaration parses a line like "Param(name D, value 4)".
func (r *reader) declaration() {
	l := r.line(0)
	op := l.Name("a declaration")
	if d := r.program.Add(op); d == nil {
		l.FailAt(0, "nothing that programs declare is called %q", op)
	} else {
		fields(l, d)
		l.Note()
	}
	r.err = l.Err
	r.at++
}

// body parses the statements with this indentation, and their nested statements.
func (r *reader) body(indent string) []calls.Stmt {
	var list []calls.Stmt
	for r.err == nil && r.at < len(r.lines) {
		text, ok := strings.CutPrefix(r.lines[r.at], indent)
		if !ok || text == "" || strings.HasPrefix(text, " ") || text == "Else:" {
			break
		}
		l := r.line(len(indent))
		op := l.Name("a statement")
		s := calls.New(op)
		if s == nil {
			r.fail(len(indent), "no statement is called %q", op)
			break
		}
		fields(l, s)
		lists := calls.Bodies(s)
		if l.Accept(":") != (len(lists) > 0) {
			l.FailAt(len(indent), "a colon stands behind what holds statements, and only there")
		}
		info(l, s.Meta(), r.program.File)
		if r.err = l.Err; r.err != nil {
			break
		}
		r.at++
		for i, inner := range lists {
			if i == 1 {
				if r.at >= len(r.lines) || r.lines[r.at] != indent+"Else:" {
					continue
				}
				r.at++
			}
			*inner = r.body(indent + "  ")
		}
		list = append(list, s)
	}
	return list
}

// life parses the sections after the statements: the host steps around the calls. An empty line precedes each section.
func (r *reader) life() {
	for _, section := range r.program.Life.Sections() {
		if r.err != nil || r.at+1 >= len(r.lines) || r.lines[r.at] != "" || r.lines[r.at+1] != section.Name+":" {
			continue
		}
		for r.at += 2; r.at < len(r.lines); r.at++ {
			text, ok := strings.CutPrefix(r.lines[r.at], "  ")
			if !ok {
				break
			}
			do, name, _ := strings.Cut(text, " ")
			step := calls.Step{Do: calls.Deed(do), Name: name}
			if named, known := calls.Deeds[step.Do]; !known || named == (name == "") || strings.Contains(name, " ") {
				r.fail(2, "%q is no step of the life of a program", text)
				return
			}
			*section.Steps = append(*section.Steps, step)
		}
	}
}

// info parses the text after the fields: position, label and note, each of which may be absent.
func info(l *scan.Line, info *calls.Info, file string) {
	info.Pos = l.Position(file)
	if l.Peek() != "" {
		info.Label = l.Name("a label")
	}
	info.Note = l.Note()
}
