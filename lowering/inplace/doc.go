// Package inplace has the passes that remove copies and separate adds. Shards, outputs and operands of a concat are
// computed in their final buffer. Sums are read and written in peer memory, or accumulated in the GEMM.
package inplace
