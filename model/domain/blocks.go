package domain

// BlockRow is the length, in elements, of the blocks that share a scale in a GEMM of fp8 operands. A block of the first
// operand is BlockRow elements of a row, along the summed axis. A block of the second operand is BlockRow rows of
// BlockRow elements. cuBLASLt has no other blocks with fp32 scales.
const BlockRow = 128
