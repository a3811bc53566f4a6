package hostir

import (
	"fmt"
	"strconv"
	"strings"
)

// Auto asks for choices by the size of the problem, and says what was chosen.
type Auto struct {
	// Given names the choices that the user made: they stay.
	Given []string
	// Basis is what the others rest on, in words; empty until they are chosen.
	Basis string
}

// texts are the choices that are words, by the name that the text form has for them.
func (c *Choices) texts() map[string]*string {
	return map[string]*string{
		"pipeline": &c.Pipeline, "transport": &c.Transport, "reshard": &c.Reshard,
		"sync": &c.Sync, "joins": &c.Joins, "buffers": &c.Buffers, "own": &c.Own,
		"order": &c.Order, "own_step": &c.OwnStep, "sums": &c.Sums, "transfers": &c.Transfers,
		"copy": &c.Copy, "signals": &c.Signals, "fallback": &c.Fallback, "elsewhere": &c.Elsewhere, "hosts": &c.Hosts,
	}
}

// numbers are the choices that are numbers.
func (c *Choices) numbers() map[string]*int {
	return map[string]*int{"chunks": &c.Chunks, "pieces": &c.Pieces, "delay": &c.Delay}
}

// Get tells a choice, with name and value as the text form spells them; "" where it is left open,
// is 0, or is no choice.
func (c Choices) Get(name string) string {
	if text := c.texts()[name]; text != nil {
		return *text
	}
	if number := c.numbers()[name]; number != nil && *number != 0 {
		return strconv.Itoa(*number)
	}
	if name == "graph" {
		return strconv.FormatBool(c.Graph)
	}
	return ""
}

// Set makes one choice, with name and value as the text form spells them; streams is the
// program's. It reports whether there is such a choice and the value can be one of it.
func (p *Program) Set(name, value string) bool {
	if text := p.Choices.texts()[name]; text != nil {
		*text = value
		return value != ""
	}
	if name == "graph" {
		p.Choices.Graph = value == "true"
		return value == "true" || value == "false"
	}
	number := p.Choices.numbers()[name]
	if name == "streams" {
		number = &p.Streams
	}
	n, err := strconv.Atoi(value)
	if number == nil || err != nil || n < 0 {
		return false
	}
	*number = n
	return true
}

// formatAuto prints " given pipeline, streams by "..."", each part where there is one.
func formatAuto(a *Auto) string {
	text := ""
	if len(a.Given) > 0 {
		text += " given " + strings.Join(a.Given, ", ")
	}
	if a.Basis != "" {
		text += " by " + strconv.Quote(a.Basis)
	}
	return text
}

func (p *parser) autoLine() {
	a := &Auto{}
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

// list are the choices in the order of the text form: all that every pipeline has, though left open,
// and of the others those that are made.
func (c Choices) list() []member {
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

func formatChoices(c Choices) string {
	var texts []string
	for _, m := range c.list() {
		texts = append(texts, fmt.Sprint(m.key, " ", m.value))
	}
	return strings.Join(texts, ", ")
}

func (p *parser) choicesLine() {
	c := &p.program.Choices
	fields, numbers := c.texts(), c.numbers()
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
