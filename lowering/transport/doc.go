// Package transport has the passes for transfers between ranks: communications, their transport (NCCL, CUDA IPC or
// UCC), and the fallback variant for ranks that cannot all share memory.
package transport
