package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

func (p *parser) tensorLine() {
	at := p.At
	t := &hostir.Tensor{Name: p.Name("a tensor")}
	p.Expect(":")
	t.DType = p.dtype()
	t.Axes = scan.List(p.Line, p.axis)
	for p.Err == nil && p.Accept(",") {
		p.tensorAttribute(t)
	}
	t.Pos = p.trailer().Pos
	if p.tensors[t.Name] != nil {
		p.FailAt(at, "tensor %s is declared twice", t.Name)
	}
	p.tensors[t.Name] = t
	p.program.Tensors = append(p.program.Tensors, t)
}

func (p *parser) tensorAttribute(t *hostir.Tensor) {
	at := p.At
	switch word := p.Name("a role or attribute"); word {
	case "mesh":
		t.Mesh = p.mesh()
	case "temp":
		t.Role = hostir.Temp
	case "input":
		t.Role = hostir.Input
	case "output":
		t.Role = hostir.Output
	case "view":
		t.Role = hostir.View
	case "layout":
		t.Layout = scan.List(p.Line, p.Small)
	case "absent":
		t.Absent = scan.List(p.Line, p.Small)
	case "inferred":
		t.Inferred = true
	case "rounded":
		t.Rounded = true
	case "fill":
		t.Fill = p.Name("values of an input")
	case "deviation":
		t.Deviation = p.decimal()
	default:
		p.FailAt(at, "%q is no attribute of a tensor", word)
	}
}

// decimal parses a number up to the next comma, space or "@".
func (p *parser) decimal() float64 {
	text, at := p.Until(", @")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.FailAt(at, "%q is no number", text)
	}
	return v
}

func (p *parser) dtype() domain.DType {
	at := p.At
	t := domain.DType(p.Name("an element type"))
	if !slices.Contains(domain.AllDTypes, t) {
		p.FailAt(at, "%q is no element type", t)
	}
	return t
}

func (p *parser) mesh() *domain.Mesh {
	at := p.At
	word := p.Name("a mesh")
	m := p.meshes[word]
	if m == nil {
		p.FailAt(at, "there is no mesh %q", word)
	}
	return m
}

var axisKinds = map[string]domain.Axis{
	"DIDx": {Kind: domain.Device, Mesh: "x"}, "DIDy": {Kind: domain.Device, Mesh: "y"},
	"DIDz": {Kind: domain.Device, Mesh: "z"}, "Stream": {Kind: domain.Stream},
	"r": {Kind: domain.Reduction}, "b": {Kind: domain.Broadcast},
}

func (p *parser) axis() domain.Axis {
	word := p.Peek()
	axis, special := axisKinds[word]
	if special && strings.HasPrefix(p.Text[p.At+len(word):], "(") {
		p.At += len(word) + 1
		axis.Extent = p.extent(")")
		p.Expect(")")
		return axis
	}
	return domain.Axis{Extent: p.extent(",]")}
}

// extent parses an expression over the parameters, up to one of the bytes in stops. The Text of the result is empty for
// a plain number.
func (p *parser) extent(stops string) domain.Extent {
	if p.Err != nil {
		return domain.Extent{}
	}
	text, at := p.Until(stops)
	e := p.ParseExpr(text, at)
	if p.Err != nil {
		return domain.Extent{}
	}
	size, err := expr.Eval(e, func(name string) (int64, bool) {
		v, ok := p.params[name]
		return v, ok
	})
	if err != nil {
		p.FailAt(at, "%s", err.Error())
	}
	if _, plain := e.(expr.Int); plain {
		text = ""
	}
	return domain.Extent{Text: text, Size: size}
}

// withAxis lists the kinds of operations that take the argument axis.
var withAxis = []string{"reduce", "broadcast", "slice", "concat", "gather"}

func (p *parser) referenceLine(list *[]domain.Operation) {
	op := domain.Operation{Out: p.Name("a tensor")}
	for p.Err == nil && p.Accept(",") {
		op.More = append(op.More, p.Name("a tensor"))
	}
	p.Expect("=")
	op.Kind = p.Name("an operation")
	p.Expect("(")
	if op.Kind == "unary" || op.Kind == "binary" || op.Kind == "reduce" || op.Kind == "dropout" || strings.HasPrefix(op.Kind, "attention") {
		op.Fn = p.functionName()
		p.Expect(",")
	}
	for more := op.Kind != "positions"; more && p.Err == nil; more = p.Accept(",") {
		at := p.At
		switch word := p.Name("a tensor"); {
		case len(op.In) == 0 && !p.startsArgumentEnd():
			p.FailAt(at, "%q is no operand", word)
		case word == "axis" && slices.Contains(withAxis, op.Kind) && !p.startsArgumentEnd():
			op.Axis = p.Small()
		case word == "batches" && op.Kind == "gather" && !p.startsArgumentEnd():
			op.Batches = p.Small()
		case word == "start" && op.Kind == "slice" && !p.startsArgumentEnd():
			op.Start = p.extent(")")
		case word == "perm" && op.Kind == "permute" && !p.startsArgumentEnd():
			op.Perm = scan.List(p.Line, p.Small)
		default:
			op.In = append(op.In, word)
		}
	}
	p.Expect(")")
	p.Expect(",")
	p.Keyword("shape")
	op.Shape = scan.List(p.Line, func() domain.Extent { return p.extent(",]") })
	p.Expect(",")
	op.DType = p.dtype()
	if p.Accept(",") {
		p.Keyword("of")
		op.Whole = p.Quoted()
	}
	if p.Accept(",") {
		p.Keyword("part")
		op.Part = p.Name("a composite")
	}
	op.Pos = p.trailer().Pos
	*list = append(*list, op)
}
