package text

import (
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// formatAuto prints " given pipeline, streams by "..."", omitting absent parts.
func formatAuto(a *hostir.Auto) string {
	text := ""
	if len(a.Given) > 0 {
		text += " given " + strings.Join(a.Given, ", ")
	}
	if a.Basis != "" {
		text += " by " + strconv.Quote(a.Basis)
	}
	return text
}

// interNode is the word for hostir.Choices.InterNode, the transport between nodes, among the choices.
const interNode = "inter-node"

// choices prints the choices of a program, each with its position in the spec if it has one, after a space: " pipeline p2p @9:13,
// all.via ipc-get". It omits fields without a choice.
func (w *printer) choices(c hostir.Choices) string {
	var texts []string
	for _, one := range c.Choices {
		texts = append(texts, one.Path()+" "+one.Value+scan.FormatPosition(one.Pos, w.file))
	}
	if c.InterNode != "" {
		texts = append(texts, interNode+" "+c.InterNode)
	}
	if len(texts) == 0 {
		return ""
	}
	return " " + strings.Join(texts, ", ")
}

// choicesObject returns the choices as JSON.
func choicesObject(c hostir.Choices) schedule.Object {
	o := c.Report()
	if c.InterNode != "" {
		o = append(o, schedule.Member{Key: "inter_node", Value: c.InterNode})
	}
	return o
}

func (p *parser) autoLine() {
	a := &hostir.Auto{}
	if p.AcceptWord("given") {
		for more := true; more && p.Err == nil; more = p.Accept(",") {
			a.Given = append(a.Given, schedule.Path(p.path()))
		}
	}
	if p.AcceptWord("by") {
		a.Basis = p.Quoted()
	}
	p.end()
	p.program.Auto = a
}

// path parses the communication and the field of a choice: "all.via", "streams".
func (p *parser) path() (of, field string) {
	field = p.Name("a choice")
	if p.Accept(".") {
		return field, p.Name("a choice")
	}
	return "", field
}

func (p *parser) choicesLine() {
	c := &p.program.Choices
	for more := p.Peek() != ""; more && p.Err == nil; more = p.Accept(",") {
		at := p.At
		if p.AcceptSpelling(interNode) {
			c.InterNode = p.Spelling("a transport")
			continue
		}
		of, name := p.path()
		switch field, ok := schedule.Named(name); {
		case !ok || (field.Scope == schedule.Program) != (of == ""):
			p.FailAt(at, "%q is no choice", schedule.Path(of, name))
		default:
			p.choice(of, field)
		}
	}
	p.end()
}

// choice parses the value of a field, and its position in the spec.
func (p *parser) choice(of string, field schedule.Field) {
	var value string
	if at := p.At; field.IsNumber() && p.Peek() == "" {
		value = strconv.FormatInt(p.Integer(), 10)
	} else if value = p.Spelling("a choice"); !field.Can(value) {
		p.FailAt(at, "%s cannot be %q", schedule.Path(of, field.Name), value)
	}
	p.program.Choices.Put(schedule.Choice{Of: of, Field: field.Name, Value: value, Pos: p.Position(p.program.File)})
}
