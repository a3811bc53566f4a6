// Package transport has the passes for transfers between ranks: communications, their transport over NCCL or CUDA IPC,
// and the fallback variant for several nodes.
package transport
