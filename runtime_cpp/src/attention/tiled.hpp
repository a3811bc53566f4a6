// Attention by kernels of this runtime, in tiles that pass through shared memory, after Dao,
// "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023). They
// support all types, head sizes and numbers of rows, and are used if cuDNN has no plan. They are
// not meant to be as fast as cuDNN. One source serves both devices; on the CPU device a warp is one
// thread.
#pragma once

#include "attention/method.hpp"

namespace hirgen {

AttentionMethod<AttentionProblem> plan_by_tiles(const AttentionProblem& problem, const char* where);
AttentionMethod<AttentionGradProblem> plan_by_tiles(const AttentionGradProblem& problem,
                                                    const char* where);

}  // namespace hirgen
