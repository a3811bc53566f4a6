// Package model is what a user asks for: a pipeline of operations on tensors whose
// axes are serial, split over a mesh of ranks, or streamed.
//
// Load reads a pipeline from a spec in YAML and New starts one in Go; both end in the
// same checks and give the same Pipeline. Everything wrong with a spec is reported at
// once, each mistake with its position.
package model
