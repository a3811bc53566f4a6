package hostir

import (
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Parse reads the text form that Print gives: Parse(Print(p)) is p. Empty lines and
// lines that start with "#" may stand anywhere in the body. Errors are *diag.Errors
// with positions in the text, one per wrong line.
func Parse(filename, text string) (*Program, error) {
	p := &parser{
		file: filename, program: &Program{},
		params: map[string]int64{}, meshes: map[string]*domain.Mesh{}, tensors: map[string]*Tensor{},
	}
	p.blocks = []*[]Stmt{&p.program.Body}
	inHeader, number := true, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		p.scanner = &scanner{pos: diag.Pos{File: filename, Line: number}, text: line}
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
		case line == "":
			inHeader = inHeader && p.program.Name == ""
		case inHeader:
			p.headerLine()
		default:
			p.bodyLine()
		}
		p.report(p.err)
	}
	if p.program.Name == "" && p.errors.Len() == 0 {
		p.errors.Add(diag.Pos{File: filename, Line: 1, Col: 1}, diag.HostIRSyntax, `the text has no line "program NAME from FILE"`)
	}
	if err := p.errors.Err(); err != nil {
		return nil, err
	}
	return p.program, nil
}

type parser struct {
	*scanner // of the current line
	file     string
	program  *Program
	errors   diag.List
	params   map[string]int64
	meshes   map[string]*domain.Mesh
	tensors  map[string]*Tensor
	blocks   []*[]Stmt // the statement list open at each depth
}

func (p *parser) report(d *diag.Diagnostic) {
	if d != nil {
		p.errors.Add(d.Pos, d.Code, "%s", d.Message)
	}
}

func (p *parser) headerLine() {
	at := p.at
	switch word := p.name("a header line"); word {
	case "program":
		p.programLine()
	case "param":
		p.paramLine()
	case "mesh":
		p.meshLine()
	case "streams":
		p.program.Streams = p.small()
		p.end()
	case "choices":
		p.choicesLine()
	case "tensor":
		p.tensorLine()
	case "reference":
		p.referenceLine()
	default:
		p.failAt(at, "%q starts no header line; an empty line ends the header", word)
	}
}

func (p *parser) end() { p.trailer(p.program.File) }

func (p *parser) programLine() {
	p.program.Name = p.spelling("the program")
	p.keyword("from")
	p.program.File = p.quoted()
	p.end()
}

func (p *parser) paramLine() {
	at := p.at
	param := Param{Name: p.name("a parameter")}
	p.expect("=")
	param.Value = p.integer()
	p.end()
	if _, twice := p.params[param.Name]; twice {
		p.failAt(at, "parameter %s is there twice", param.Name)
	}
	p.params[param.Name] = param.Value
	p.program.Params = append(p.program.Params, param)
}

func (p *parser) meshLine() {
	m := &domain.Mesh{Name: p.name("a mesh")}
	p.expect(":")
	size := int64(1)
	for p.err == nil && p.peek() != "ranks" {
		axis := domain.MeshAxis{Name: p.name("a mesh axis")}
		p.expect("=")
		axis.Extent = p.extent(",")
		p.expect(",")
		m.Axes = append(m.Axes, axis)
		size *= axis.Extent.Size
	}
	p.keyword("ranks")
	for p.skipSpace(); p.err == nil && p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9'; p.skipSpace() {
		p.rankRange(m)
	}
	p.end()
	if p.err == nil && int64(len(m.Ranks)) != size {
		p.fail("mesh %s has %d ranks, and its axes hold %d", m.Name, len(m.Ranks), size)
	}
	p.meshes[m.Name] = m
	p.program.Meshes = append(p.program.Meshes, m)
}

// maxRanks bounds the ranks that one line can ask for.
const maxRanks = 1 << 16

func (p *parser) rankRange(m *domain.Mesh) {
	at := p.at
	first := p.small()
	last := first
	if p.accept("..") {
		last = p.small()
	}
	if last < first || last-first >= maxRanks {
		p.failAt(at, "%d..%d is no range of ranks", first, last)
		return
	}
	for r := first; r <= last; r++ {
		m.Ranks = append(m.Ranks, r)
	}
}

func (p *parser) choicesLine() {
	c := &p.program.Choices
	fields := map[string]*string{
		"pipeline": &c.Pipeline, "transport": &c.Transport, "reshard": &c.Reshard,
		"sync": &c.Sync, "joins": &c.Joins, "buffers": &c.Buffers,
	}
	for more := true; more && p.err == nil; more = p.accept(",") {
		at := p.at
		key := p.name("a choice")
		switch field := fields[key]; {
		case key == "graph":
			c.Graph = p.acceptWord("true")
			if !c.Graph {
				p.keyword("false")
			}
		case field != nil:
			*field = ""
			if next := p.peek(); next != "" {
				*field = p.spelling("a choice")
			}
		default:
			p.failAt(at, "%q is no choice", key)
		}
	}
	p.end()
}

func (p *parser) tensorLine() {
	at := p.at
	t := &Tensor{Name: p.name("a tensor")}
	p.expect(":")
	t.DType = p.dtype()
	t.Axes = p.domainAxes()
	for p.err == nil && p.accept(",") {
		p.tensorAttribute(t)
	}
	t.Pos = p.trailer(p.program.File).Pos
	if p.tensors[t.Name] != nil {
		p.failAt(at, "tensor %s is declared twice", t.Name)
	}
	p.tensors[t.Name] = t
	p.program.Tensors = append(p.program.Tensors, t)
}

func (p *parser) tensorAttribute(t *Tensor) {
	at := p.at
	switch word := p.name("a role or attribute"); word {
	case "mesh":
		t.Mesh = p.mesh()
	case "temp":
		t.Role = Temp
	case "input":
		t.Role = Input
	case "output":
		t.Role = Output
	case "view":
		t.Role = View
	case "layout":
		t.Layout = p.axes()
	case "inferred":
		t.Inferred = true
	default:
		p.failAt(at, "%q is no attribute of a tensor", word)
	}
}

func (p *parser) dtype() domain.DType {
	at := p.at
	word := p.name("an element type")
	for _, t := range domain.DTypes {
		if word == string(t) {
			return t
		}
	}
	p.failAt(at, "%q is no element type", word)
	return ""
}

func (p *parser) mesh() *domain.Mesh {
	at := p.at
	word := p.name("a mesh")
	m := p.meshes[word]
	if m == nil {
		p.failAt(at, "there is no mesh %q", word)
	}
	return m
}

// domainAxes takes "[S, DIDx(D), M/(S*D), K]".
func (p *parser) domainAxes() []domain.Axis {
	var list []domain.Axis
	p.expect("[")
	for p.err == nil && !p.accept("]") {
		if len(list) > 0 {
			p.expect(",")
		}
		list = append(list, p.axis())
	}
	return list
}

var axisKinds = map[string]domain.Axis{
	"DIDx": {Kind: domain.Device, Mesh: "x"}, "DIDy": {Kind: domain.Device, Mesh: "y"},
	"DIDz": {Kind: domain.Device, Mesh: "z"}, "Stream": {Kind: domain.Stream},
	"r": {Kind: domain.Reduction}, "b": {Kind: domain.Broadcast},
}

func (p *parser) axis() domain.Axis {
	word := p.peek()
	axis, special := axisKinds[word]
	if special && strings.HasPrefix(p.text[p.at+len(word):], "(") {
		p.at += len(word) + 1
		axis.Extent = p.extent(")")
		p.expect(")")
		return axis
	}
	return domain.Axis{Extent: p.extent(",]")}
}

// extent takes an expression over the parameters; a plain number keeps no text.
func (p *parser) extent(stops string) domain.Extent {
	if p.err != nil {
		return domain.Extent{}
	}
	text, at := p.until(stops)
	e := p.parseExpr(text, at)
	if p.err != nil {
		return domain.Extent{}
	}
	size, err := expr.Eval(e, func(name string) (int64, bool) {
		v, ok := p.params[name]
		return v, ok
	})
	if err != nil {
		p.failAt(at, "%s", err.Error())
	}
	if _, plain := e.(expr.Int); plain {
		text = ""
	}
	return domain.Extent{Text: text, Size: size}
}

func (p *parser) referenceLine() {
	op := RefOp{Out: p.name("a tensor")}
	p.expect("=")
	op.Kind = p.name("an operation")
	p.expect("(")
	if op.Kind == "unary" || op.Kind == "binary" || op.Kind == "reduce" {
		op.Fn = p.name("a function")
		p.expect(",")
	}
	for more := true; more && p.err == nil; more = p.accept(",") {
		switch word := p.name("a tensor"); {
		case word == "axis" && !p.startsArgumentEnd():
			op.Axis = p.small()
		case word == "perm" && !p.startsArgumentEnd():
			op.Perm = p.axes()
		default:
			op.In = append(op.In, word)
		}
	}
	p.expect(")")
	p.expect(",")
	p.keyword("shape")
	op.Shape = p.integers()
	p.expect(",")
	op.DType = p.dtype()
	op.Pos = p.trailer(p.program.File).Pos
	p.program.Reference = append(p.program.Reference, op)
}

// startsArgumentEnd reports whether an argument ends here, so that the word before
// was a tensor's name and not a keyword.
func (p *parser) startsArgumentEnd() bool {
	p.skipSpace()
	return p.at >= len(p.text) || p.text[p.at] == ',' || p.text[p.at] == ')'
}
