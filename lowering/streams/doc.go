// Package streams turns operations on a Stream axis into loops. It decides which operations share a loop, what an
// iteration does for each of them, how ranks send each other shards, and into which sub-chunks shards are split.
package streams
