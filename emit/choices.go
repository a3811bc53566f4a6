package emit

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// transportOf names the transports of a program as reports do: "ipc-get", "nccl".
func transportOf(p *hostir.Program) string {
	names := map[hostir.Backend]string{hostir.IPCGet: schedule.IPCGet, hostir.IPCPut: schedule.IPCPut}
	var used []string
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		if transfer, ok := s.(*hostir.P2PCommunication); ok {
			if name := names[transfer.Backend]; name != "" && !slices.Contains(used, name) {
				used = append(used, name)
			}
		}
		return true
	})
	if len(used) == 0 {
		return schedule.NCCL
	}
	slices.Sort(used)
	return strings.Join(used, ", ")
}

// tells reports whether a choice is worth mentioning for this program.
func (f *form) tells(c schedule.Choice) bool {
	switch c.Field {
	case schedule.Streams, schedule.Preset, schedule.Pipeline:
		return false // schedule mentions them first, if they are used
	case schedule.InitialWaits, schedule.Joins:
		return f.view.Streams > 0
	}
	field, _ := schedule.Named(c.Field)
	return c.Value != field.Default
}

// choiceInWords describes a choice in words, mostly as a spec spells it, without the colon.
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

// schedule lists the choices that shaped the program: its pipeline, its streams, and every choice that differs from
// the default.
func (f *form) schedule() string {
	parts := []string{f.workers()}
	if f.program.Choices.Whole() {
		parts = append([]string{"no pipeline"}, parts...)
	} else if hasStmt[*hostir.For](f.program.Body) {
		parts = append([]string{"pipeline " + f.program.Choices.Get(schedule.Pipeline)}, parts...)
	}
	for _, field := range schedule.Fields {
		for _, c := range f.program.Choices.Choices {
			if c.Field == field.Name && f.tells(c) {
				parts = append(parts, choiceInWords(c))
			}
		}
	}
	if interNode := f.program.Choices.InterNode; interNode != "" {
		parts = append(parts, interNode+" between nodes")
	}
	return strings.Join(parts, ", ")
}
