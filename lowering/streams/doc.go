// Package streams turns operations on a Stream axis into loops. It decides which operations share a loop,
// what an iteration does for each of them, how ranks pass shards on, and into which sub-chunks shards are
// cut.
package streams
