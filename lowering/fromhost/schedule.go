package fromhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// tells reports whether the text of schedule mentions a schedule field after the pipeline and the streams.
func (b *builder) tells(c schedule.Choice) bool {
	switch c.Field {
	case schedule.Streams, schedule.Preset, schedule.Pipeline:
		return false // schedule mentions them first, if they are used
	case schedule.InitialWaits, schedule.Joins:
		return b.pipelined
	}
	field, _ := schedule.Named(c.Field)
	return c.Value != field.Default
}

// choiceInWords describes a schedule field in words, mostly as a spec writes it, without the colon.
func choiceInWords(c schedule.Choice) string {
	switch {
	case c.Field == schedule.Delay:
		return c.Field + " " + c.Value + " microseconds"
	case c.Field == schedule.Graph:
		return "replayed as a CUDA graph"
	case c.Of == "" || c.Of == schedule.All:
		return c.Field + " " + c.Value
	}
	return c.Field + " " + c.Value + " of " + c.Of
}

// schedule describes the schedule of the program in words: its pipeline, its streams, and the fields that tells
// selects, most of which differ from their defaults.
func (b *builder) schedule() string {
	parts := []string{b.workers()}
	if b.program.Choices.Whole() {
		parts = append([]string{"no pipeline"}, parts...)
	} else if hasLoop(b.program.Body) {
		parts = append([]string{"pipeline " + b.program.Choices.Get(schedule.Pipeline)}, parts...)
	}
	for _, field := range schedule.Fields {
		for _, c := range b.program.Choices.Choices {
			if c.Field == field.Name && b.tells(c) {
				parts = append(parts, choiceInWords(c))
			}
		}
	}
	if interNode := b.program.Choices.InterNode; interNode != "" {
		parts = append(parts, interNode+" between nodes")
	}
	return strings.Join(parts, ", ")
}

// hasLoop reports whether statements, or nested ones, contain a loop.
func hasLoop(body []hostir.Stmt) bool {
	return hostir.Any(body, hostir.Is[*hostir.For])
}

// workers says in words how many compute streams the program uses.
func (b *builder) workers() string {
	words := "1 compute stream"
	if b.out.Streams > 1 {
		words = fmt.Sprintf("%d compute streams", b.out.Streams)
	}
	switch field, _ := schedule.Named(schedule.Streams); {
	case b.out.Streams == 0:
		return "computes on the caller's stream"
	case !b.pipelined:
		words = "computes on the caller's stream, and some small GEMMs on " + words
	case field.Default == strconv.Itoa(b.out.Streams):
		words += " (the default)"
	}
	return words
}
