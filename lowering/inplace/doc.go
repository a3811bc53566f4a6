// Package inplace has the passes that leave out copies of pipelines: shards are made where they are gathered,
// partial sums are accumulated in the GEMM, or read and written in peer memory.
package inplace
