package emit

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// graph reports whether a call is captured into a CUDA graph.
func (b *builder) graph() bool { return isGraph(b.program) }

func isGraph(p *hostir.Program) bool { return p.Choices.Get(schedule.Graph) == schedule.True }

// kernelsCopy reports whether kernels copy what a communication moves between shared memories.
func (b *builder) kernelsCopy(of string) bool {
	return b.program.Choices.Of(of, schedule.Copy) != schedule.Engine
}

// kernelsSignal reports whether a kernel sets the flags of a group, or waits for them: in a graph, and where kernels copy
// for any of its transfers.
func (b *builder) kernelsSignal(members []hostir.Stmt) bool {
	return b.graph() || hostir.Any(members, func(s hostir.Stmt) bool {
		switch s := s.(type) {
		case *hostir.P2PCommunication:
			return b.kernelsCopy(s.Of)
		case *hostir.Wait:
			e := b.pairs[s.Handle]
			return e != nil && b.kernelsCopy(e.Send.Of)
		}
		return false
	})
}

// transportOf names what carries the transfers of a program, as reports do: "ipc-get", "nccl".
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

// tells reports whether a choice says something of this program.
func (b *builder) tells(c schedule.Choice) bool {
	switch c.Field {
	case schedule.Streams, schedule.Preset, schedule.Pipeline:
		return false // told first, as far as they are used
	case schedule.InitialWaits, schedule.Joins:
		return b.view.Workers > 0
	}
	f, _ := schedule.Named(c.Field)
	return c.Value != f.Default
}

// choiceInWords spells a choice as specs do, without the colon, where that says enough.
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

// schedule names the choices that shaped the program: its pipeline, its streams, and what is not the default.
func (b *builder) schedule() string {
	parts := []string{b.workers()}
	if preset := b.program.Choices.Get(schedule.Preset); preset == schedule.Eager {
		parts = append([]string{"no pipeline"}, parts...)
	} else if hasStmt[*hostir.For](b.program.Body) {
		parts = append([]string{"pipeline " + b.program.Choices.Get(schedule.Pipeline)}, parts...)
	}
	for _, f := range schedule.Fields {
		for _, c := range b.program.Choices.Choices {
			if c.Field == f.Name && b.tells(c) {
				parts = append(parts, choiceInWords(c))
			}
		}
	}
	if elsewhere := b.program.Choices.Elsewhere; elsewhere != "" {
		parts = append(parts, elsewhere+" between nodes")
	}
	return strings.Join(parts, ", ")
}
