// Package shard is the first half of a lowering. Its passes decide how ranks hold each tensor and insert the movements
// between ranks, until each statement is local to a rank or is one movement. Later passes call Describe to find out what a
// statement moves.
package shard
