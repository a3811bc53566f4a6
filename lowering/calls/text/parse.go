package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/calls"
)

// Parse reads the text form. The error is a *diag.Errors with the first mistake.
func Parse(file, text string) (*calls.Program, error) {
	r := &reader{file: file, lines: strings.Split(strings.TrimRight(text, "\n"), "\n"), program: &calls.Program{}}
	r.header()
	for r.err == nil && r.at < len(r.lines) && r.lines[r.at] != "" {
		r.declaration()
	}
	r.at++
	r.program.Body = r.body("")
	if r.err == nil && r.at < len(r.lines) {
		r.fail(0, "this line is indented, and stands in nothing")
	}
	if r.err != nil {
		var list diag.List
		list.Append(r.err)
		return nil, list.Err()
	}
	return r.program, nil
}

// reader reads lines. The first mistake sticks.
type reader struct {
	file    string
	lines   []string
	at      int
	program *calls.Program
	err     *diag.Diagnostic
}

func (r *reader) fail(col int, format string, args ...any) {
	if r.err == nil {
		pos := diag.Pos{File: r.file, Line: r.at + 1, Col: col + 1}
		r.err = &diag.Diagnostic{Pos: pos, Code: diag.HostIRSyntax, Message: fmt.Sprintf(format, args...)}
	}
}

// header reads the lines in front of the declarations.
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

// declaration reads a line like "Param(name D, value 4)".
func (r *reader) declaration() {
	op, fields, _ := r.line(r.lines[r.at], 0)
	if r.err != nil {
		return
	}
	if d := r.program.Add(op); d != nil {
		r.read(d, fields)
	} else {
		r.fail(0, "nothing that programs declare is called %q", op)
	}
	r.at++
}

// body reads the statements that are indented so far.
func (r *reader) body(indent string) []calls.Stmt {
	var list []calls.Stmt
	for r.err == nil && r.at < len(r.lines) {
		text, ok := strings.CutPrefix(r.lines[r.at], indent)
		if !ok || strings.HasPrefix(text, " ") || text == "Else:" {
			break
		}
		op, fields, rest := r.line(text, len(indent))
		s := calls.New(op)
		if s == nil {
			r.fail(len(indent), "no statement is called %q", op)
			break
		}
		r.read(s, fields)
		opens := r.info(s.Meta(), rest)
		r.at++
		lists := calls.Bodies(s)
		if opens != (len(lists) > 0) {
			r.at--
			r.fail(len(indent), "a colon stands behind what holds statements, and only there")
			break
		}
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

// info reads what stands behind the fields: a colon, a position, a label, a note.
func (r *reader) info(info *calls.Info, rest string) (opens bool) {
	rest, opens = strings.CutPrefix(rest, ":")
	rest, note, _ := strings.Cut(rest, "  # ")
	info.Note = note
	for _, word := range strings.Fields(rest) {
		pos, ok := strings.CutPrefix(word, "@")
		if !ok {
			info.Label = word
			continue
		}
		info.Pos.File = r.program.File
		if quoted, err := strconv.QuotedPrefix(pos); err == nil {
			info.Pos.File, _ = strconv.Unquote(quoted)
			pos = strings.TrimPrefix(pos[len(quoted):], ":")
		}
		row, col, _ := strings.Cut(pos, ":")
		info.Pos.Line, _ = strconv.Atoi(row)
		info.Pos.Col, _ = strconv.Atoi(col)
		if info.Pos.Line <= 0 {
			r.fail(0, "%q is no position", word)
		}
	}
	return opens
}
