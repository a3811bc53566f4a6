// Package streams makes loops of what runs along a Stream axis: which operations share a loop, what an
// iteration does for each of them, how ranks pass shards on, and into which sub-chunks shards are cut.
package streams
