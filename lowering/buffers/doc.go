// Package buffers contains the pass that frees buffers.
package buffers
