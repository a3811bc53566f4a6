// Package model represents a pipeline of operations on tensors whose axes are serial, split over a mesh of ranks, or
// streamed.
//
// Load reads a pipeline from a spec in YAML, and New starts one in Go. Load and Builder.Build run the same checks and
// return the same Pipeline. They report all errors that they find at once, each with its position.
package model
