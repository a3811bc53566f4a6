package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

func (p *parser) tensorLine() {
	at := p.at
	t := &hostir.Tensor{Name: p.name("a tensor")}
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

func (p *parser) tensorAttribute(t *hostir.Tensor) {
	at := p.at
	switch word := p.name("a role or attribute"); word {
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
		t.Layout = p.axes()
	case "inferred":
		t.Inferred = true
	case "tolerance":
		t.Tolerance = p.decimal()
	case "deviation":
		t.Deviation = p.decimal()
	default:
		p.failAt(at, "%q is no attribute of a tensor", word)
	}
}

// decimal takes a number up to the next comma or position.
func (p *parser) decimal() float64 {
	text, at := p.until(", @")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.failAt(at, "%q is no number", text)
	}
	return v
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

// extents takes "[S, M/S]".
func (p *parser) extents() []domain.Extent {
	list := []domain.Extent{}
	p.expect("[")
	for p.err == nil && !p.accept("]") {
		if len(list) > 0 {
			p.expect(",")
		}
		list = append(list, p.extent(",]"))
	}
	return list
}

// withAxis are the operations of the model with an axis.
var withAxis = []string{"reduce", "broadcast", "slice", "concat"}

func (p *parser) referenceLine() {
	op := hostir.RefOp{Out: p.name("a tensor")}
	p.expect("=")
	op.Kind = p.name("an operation")
	p.expect("(")
	if op.Kind == "unary" || op.Kind == "binary" || op.Kind == "reduce" {
		op.Fn = p.functionName()
		p.expect(",")
	}
	for more := op.Kind != "positions"; more && p.err == nil; more = p.accept(",") {
		at := p.at
		switch word := p.name("a tensor"); {
		case len(op.In) == 0 && !p.startsArgumentEnd():
			p.failAt(at, "%q is no operand", word)
		case word == "axis" && slices.Contains(withAxis, op.Kind) && !p.startsArgumentEnd():
			op.Axis = p.small()
		case word == "start" && op.Kind == "slice" && !p.startsArgumentEnd():
			op.Start = p.extent(")")
		case word == "perm" && op.Kind == "permute" && !p.startsArgumentEnd():
			op.Perm = p.axes()
		default:
			op.In = append(op.In, word)
		}
	}
	p.expect(")")
	p.expect(",")
	p.keyword("shape")
	op.Shape = p.extents()
	p.expect(",")
	op.DType = p.dtype()
	if p.accept(",") {
		p.keyword("of")
		op.Whole = p.quoted()
	}
	op.Pos = p.trailer(p.program.File).Pos
	p.program.Reference = append(p.program.Reference, op)
}
