package text

import (
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Parse reads the text form of Print: Parse(Print(p)) is p, without fields that are not part of the text form. The text may
// contain lines that start with "#", and the body may contain empty lines. Errors are *diag.Errors at positions in the text.
func Parse(filename, text string) (*hostir.Program, error) {
	program := &hostir.Program{}
	p := &parser{file: filename}
	p.begin(program, 0)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		p.Line = &scan.Line{Pos: diag.Pos{File: filename, Line: number}, Text: line}
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
		case line == "":
			p.inHeader = p.inHeader && p.program.Name == ""
		case p.inHeader:
			p.headerLine()
		case line == fallbackLine:
			p.finish()
			p.program.Fallback = &hostir.Program{}
			p.begin(p.program.Fallback, number)
		default:
			p.bodyLine()
		}
		p.report(p.Err)
	}
	p.named()
	p.finish()
	if err := p.errors.Err(); err != nil {
		return nil, err
	}
	return program, nil
}

type parser struct {
	*scan.Line // the current line
	file       string
	program    *hostir.Program // the program or fallback variant that is being parsed
	start      int             // number of its first line in the text
	inHeader   bool            // the current line belongs to its header
	errors     diag.List
	params     map[string]int64
	meshes     map[string]*domain.Mesh
	tensors    map[string]*hostir.Tensor
	blocks     []*[]hostir.Stmt         // the open statement list at each depth of nesting
	lines      map[hostir.Stmt]diag.Pos // positions of statements in the text, for errors
}

// begin starts to parse a program that begins after the given line of the text.
func (p *parser) begin(program *hostir.Program, line int) {
	p.program, p.start, p.inHeader = program, line+1, true
	p.params, p.meshes, p.tensors = map[string]int64{}, map[string]*domain.Mesh{}, map[string]*hostir.Tensor{}
	p.blocks, p.lines = []*[]hostir.Stmt{&program.Body}, map[hostir.Stmt]diag.Pos{}
}

// finish removes the statements that make views or set the current stream from a parsed program, and stores views and
// streams in its tensors and statements.
func (p *parser) finish() {
	p.foldViews()
	p.program.Body, _ = p.folded(p.program.Body, current{})
}

// named reports a text without a program line, if it has no other mistake.
func (p *parser) named() {
	if p.program.Name == "" && p.errors.Len() == 0 {
		p.errors.Add(diag.Pos{File: p.file, Line: p.start, Col: 1}, diag.HostIRSyntax, `the text has no line "program NAME from FILE"`)
	}
}

func (p *parser) report(d *diag.Diagnostic) {
	if d != nil {
		p.errors.Add(d.Pos, d.Code, "%s", d.Message)
	}
}

func (p *parser) headerLine() {
	at := p.At
	switch word := p.Name("a header line"); word {
	case "program":
		p.programLine()
	case "param":
		p.paramLine()
	case "mesh":
		p.meshLine()
	case "streams":
		p.program.Streams = p.Small()
		p.end()
	case "choices":
		p.choicesLine()
	case "auto":
		p.autoLine()
	case "tensor":
		p.tensorLine()
	case "reference":
		p.referenceLine(&p.program.Reference)
	case "saved":
		p.referenceLine(&p.program.Saved)
	default:
		p.FailAt(at, "%q starts no header line; an empty line ends the header", word)
	}
}

// trailer parses the position and the note at the end of a line.
func (p *parser) trailer() hostir.Info {
	return hostir.Info{Pos: p.Position(p.program.File), Note: p.Note()}
}

func (p *parser) end() { p.trailer() }

func (p *parser) programLine() {
	p.program.Name = p.Spelling("the program")
	p.Keyword("from")
	p.program.File = p.Quoted()
	p.end()
}

func (p *parser) paramLine() {
	at := p.At
	param := hostir.Param{Name: p.Name("a parameter")}
	p.Expect("=")
	param.Value = p.Integer()
	p.end()
	if _, twice := p.params[param.Name]; twice {
		p.FailAt(at, "parameter %s is there twice", param.Name)
	}
	p.params[param.Name] = param.Value
	p.program.Params = append(p.program.Params, param)
}

func (p *parser) meshLine() {
	m := &domain.Mesh{Name: p.Name("a mesh")}
	p.Expect(":")
	size := int64(1)
	for p.Err == nil && p.Peek() != "ranks" {
		axis := domain.MeshAxis{Name: p.Name("a mesh axis")}
		p.Expect("=")
		axis.Extent = p.extent(",")
		p.Expect(",")
		m.Axes = append(m.Axes, axis)
		size *= axis.Size
	}
	p.Keyword("ranks")
	for p.SkipSpace(); p.Err == nil && p.At < len(p.Text) && p.Text[p.At] >= '0' && p.Text[p.At] <= '9'; p.SkipSpace() {
		p.rankRange(m)
	}
	p.end()
	if p.Err == nil && int64(len(m.Ranks)) != size {
		p.Fail("mesh %s has %d ranks, and its axes hold %d", m.Name, len(m.Ranks), size)
	}
	p.meshes[m.Name] = m
	p.program.Meshes = append(p.program.Meshes, m)
}

// maxRanks limits the ranks of one range, such as 0..3.
const maxRanks = 1 << 16

func (p *parser) rankRange(m *domain.Mesh) {
	at := p.At
	first := p.Small()
	last := first
	if p.Accept("..") {
		last = p.Small()
	}
	if last < first || last-first >= maxRanks {
		p.FailAt(at, "%d..%d is no range of ranks", first, last)
		return
	}
	for r := first; r <= last; r++ {
		m.Ranks = append(m.Ranks, r)
	}
}
