// Package place chooses where tensors lie. For each mesh axis a tensor is whole on each rank, split along one of its axes, or
// partial: each rank has a summand. The package has one pass, which chooses the placements of all tensors that the spec leaves
// open, and makes each change of a placement one communication.
package place
