package hostir

import (
	"github.com/hirgen/hirgen/model/schedule"
)

// Choices is the schedule as the passes see it: what the spec chose, and what passes chose for it.
type Choices struct {
	schedule.Schedule
	// InterNode is "nccl" in the program that runs where not all ranks can share memory: what carries transfers
	// between nodes, while those within one take what via says. Choose-transport makes that program.
	InterNode string
}

// Auto asks for choices by the size of the problem, and says what was chosen.
type Auto struct {
	// Given names the choices that the user made, by schedule.Choice.Path: they stay.
	Given []string
	// Basis is what the others rest on, in words; empty until they are chosen.
	Basis string
}
