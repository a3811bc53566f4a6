package hostir

import "strconv"

// Auto asks for choices by the size of the problem, and says what was chosen.
type Auto struct {
	// Given names the choices that the user made: they stay.
	Given []string
	// Basis is what the others rest on, in words; empty until they are chosen.
	Basis string
}

// Words are the choices that are words, by the name that the text form has for them.
func (c *Choices) Words() map[string]*string {
	return map[string]*string{
		"pipeline": &c.Pipeline, "transport": &c.Transport, "reshard": &c.Reshard,
		"sync": &c.Sync, "joins": &c.Joins, "buffers": &c.Buffers, "own": &c.Own,
		"order": &c.Order, "own_step": &c.OwnStep, "sums": &c.Sums, "transfers": &c.Transfers,
		"copy": &c.Copy, "signals": &c.Signals, "fallback": &c.Fallback, "elsewhere": &c.Elsewhere, "hosts": &c.Hosts,
	}
}

// Numbers are the choices that are numbers, by the name that the text form has for them.
func (c *Choices) Numbers() map[string]*int {
	return map[string]*int{"chunks": &c.Chunks, "pieces": &c.Pieces, "delay": &c.Delay}
}

// Get tells a choice, with name and value as the text form spells them; "" where it is left open,
// is 0, or is no choice.
func (c Choices) Get(name string) string {
	if text := c.Words()[name]; text != nil {
		return *text
	}
	if number := c.Numbers()[name]; number != nil && *number != 0 {
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
	if text := p.Choices.Words()[name]; text != nil {
		*text = value
		return value != ""
	}
	if name == "graph" {
		p.Choices.Graph = value == "true"
		return value == "true" || value == "false"
	}
	number := p.Choices.Numbers()[name]
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
