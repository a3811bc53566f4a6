package domain

// BlockRow is the number of elements of a block in a GEMM of fp8 operands with scales of blocks. A block is BlockRow elements of a row of
// the first operand, and BlockRow rows of as many elements of the second operand, along the summed axis. cuBLASLt has no other blocks.
const BlockRow = 128
