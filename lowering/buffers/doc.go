// Package buffers has the pass on how long buffers live.
package buffers
