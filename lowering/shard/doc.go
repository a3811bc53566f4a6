// Package shard is the first half of a lowering. Its passes decide the sharding of each tensor and insert movements between
// ranks, until each statement is local to a rank or is one movement. Later passes call Describe for the movement of a
// statement.
package shard
