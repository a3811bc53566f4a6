package hostir

import (
	"github.com/hirgen/hirgen/model/schedule"
)

// Choices is the schedule for the passes: the choices of the spec and of earlier passes.
type Choices struct {
	schedule.Schedule
	// InterNode is "nccl" in the program for ranks that cannot all share memory, and empty otherwise. It is the transport between
	// nodes; within a node transfers use via. The pass choose-transport makes that program.
	InterNode string
}

// Auto asks passes to choose the fields that the user left open, from the problem size.
type Auto struct {
	// Given lists the user's choices, except preset, by schedule.Choice.Path. Passes keep them.
	Given []string
	// Basis describes how passes chose the other fields; empty until they have.
	Basis string
}
