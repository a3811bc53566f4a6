package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// formatAuto prints " given pipeline, streams by "..."", each part where there is one.
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

// madeChoices are the choices in the order of the text form: all that every pipeline has, though left open,
// and of the others those that are made.
func madeChoices(c hostir.Choices) []member {
	list := []member{
		{"pipeline", c.Pipeline}, {"transport", c.Transport}, {"reshard", c.Reshard}, {"sync", c.Sync},
		{"joins", c.Joins}, {"buffers", c.Buffers}, {"graph", c.Graph},
	}
	for _, m := range []member{
		{"own", c.Own}, {"order", c.Order}, {"own_step", c.OwnStep}, {"sums", c.Sums}, {"transfers", c.Transfers},
		{"copy", c.Copy}, {"signals", c.Signals}, {"fallback", c.Fallback}, {"elsewhere", c.Elsewhere}, {"hosts", c.Hosts},
		{"chunks", c.Chunks}, {"pieces", c.Pieces}, {"delay", c.Delay},
	} {
		if m.value != "" && m.value != 0 {
			list = append(list, m)
		}
	}
	return list
}

func formatChoices(c hostir.Choices) string {
	var texts []string
	for _, m := range madeChoices(c) {
		texts = append(texts, fmt.Sprint(m.key, " ", m.value))
	}
	return strings.Join(texts, ", ")
}

func (p *parser) autoLine() {
	a := &hostir.Auto{}
	if p.acceptWord("given") {
		for more := true; more && p.err == nil; more = p.accept(",") {
			a.Given = append(a.Given, p.name("a choice"))
		}
	}
	if p.acceptWord("by") {
		a.Basis = p.quoted()
	}
	p.end()
	p.program.Auto = a
}

func (p *parser) choicesLine() {
	c := &p.program.Choices
	fields, numbers := c.Words(), c.Numbers()
	for more := true; more && p.err == nil; more = p.accept(",") {
		at := p.at
		key := p.name("a choice")
		switch field := fields[key]; {
		case key == "graph":
			c.Graph = p.acceptWord("true")
			if !c.Graph {
				p.keyword("false")
			}
		case numbers[key] != nil:
			*numbers[key] = p.small()
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
