// Package transport has the passes for transfers between ranks: communications, their transport (NCCL, CUDA IPC or UCC),
// and the fallback variant for several nodes.
package transport
