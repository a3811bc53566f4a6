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
	p := r.program
	switch op {
	case "Param":
		p.Params = readItem(r, p.Params, &calls.Param{}, fields)
	case "Constant":
		p.Constants = readItem(r, p.Constants, &calls.Constant{}, fields)
	case "Mesh":
		p.Meshes = readItem(r, p.Meshes, &calls.Mesh{}, fields)
	case "Guard":
		p.Guards = readItem(r, p.Guards, &calls.Guard{}, fields)
	case "Team":
		p.Teams = readItem(r, p.Teams, &calls.Team{}, fields)
	case "Argument":
		p.Arguments = readItem(r, p.Arguments, &calls.Argument{}, fields)
	case "Buffer":
		p.Buffers = readItem(r, p.Buffers, &calls.Buffer{}, fields)
	case "Shape":
		p.Shapes = readItem(r, p.Shapes, &calls.Shape{}, fields)
	case "Events":
		p.Events = readItem(r, p.Events, &calls.Events{}, fields)
	case "Share":
		p.Shares = readItem(r, p.Shares, &calls.Share{}, fields)
	case "Label":
		p.Labels = readItem(r, p.Labels, &calls.Label{}, fields)
	default:
		r.fail(0, "nothing that programs declare is called %q", op)
	}
	r.at++
}

func readItem[T calls.Item](r *reader, list []T, d T, fields map[string]field) []T {
	r.read(d, fields)
	return append(list, d)
}

// statements makes one of each kind, by its name.
var statements = map[string]func() calls.Stmt{}

func init() {
	for _, kind := range []func() calls.Stmt{
		func() calls.Stmt { return &calls.EventRecord{} }, func() calls.Stmt { return &calls.StreamWait{} }, func() calls.Stmt { return &calls.FlagWrite{} },
		func() calls.Stmt { return &calls.FlagWait{} }, func() calls.Stmt { return &calls.MemOpBatch{} }, func() calls.Stmt { return &calls.Memcpy{} },
		func() calls.Stmt { return &calls.Transfer{} }, func() calls.Stmt { return &calls.NcclCall{} }, func() calls.Stmt { return &calls.NcclGroup{} },
		func() calls.Stmt { return &calls.Gemm{} }, func() calls.Stmt { return &calls.Launch{} }, func() calls.Stmt { return &calls.Delay{} },
		func() calls.Stmt { return &calls.PeerSum{} }, func() calls.Stmt { return &calls.PeerPart{} }, func() calls.Stmt { return &calls.For{} },
		func() calls.Stmt { return &calls.If{} }, func() calls.Stmt { return &calls.Declare{} }, func() calls.Stmt { return &calls.Let{} },
		func() calls.Stmt { return &calls.DeclareStream{} }, func() calls.Stmt { return &calls.BeginCall{} },
	} {
		statements[kind().Op()] = kind
	}
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
		kind := statements[op]
		if kind == nil {
			r.fail(len(indent), "no statement is called %q", op)
			break
		}
		s := kind()
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
