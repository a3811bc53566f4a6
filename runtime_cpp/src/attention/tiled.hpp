// Attention by own kernels, in tiles that pass through shared memory, after Dao,
// "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023). They
// are for all types, head sizes and rows, and take no part in a race with cuDNN's: where that has
// no plan, they are taken. One source serves both devices: here, too, a warp of the CPU device is
// one thread.
#pragma once

#include "attention/method.hpp"

namespace hirgen {

AttentionMethod<AttentionProblem> plan_by_tiles(const AttentionProblem& problem, const char* where);
AttentionMethod<AttentionGradProblem> plan_by_tiles(const AttentionGradProblem& problem,
                                                    const char* where);

}  // namespace hirgen
