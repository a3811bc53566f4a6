// Package shard is the first half of a lowering: its passes decide where every tensor lies, and what moves
// between ranks, until each statement is local to a rank or one movement. What comes after them asks it
// what a statement moves (Describe).
package shard
