// Package transport has the passes on what crosses ranks, and what carries it: communications, NCCL or CUDA IPC,
// and the fallback variant for several nodes.
package transport
