// Package place chooses the placements of tensors. Along each mesh axis a tensor is whole on each rank, split along one of its
// axes, or partial: each rank has one operand of a reduction. AssignPlacements chooses all placements that the spec leaves open,
// for the pass of that name in package schedules. It writes each change of placement along one mesh axis as one communication, or
// as a local copy of a rank's block.
package place
