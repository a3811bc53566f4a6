// Attention by kernels of this runtime, in tiles that pass through shared memory, after Dao,
// "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023). They
// support bf16, fp16 and fp32, and head sizes up to kMostHeadSize. Programs use them for attentions
// that cuDNN does not compute (see AttentionBook). They are not meant to be as fast as cuDNN. One
// source serves both devices; on the CPU device a warp is one thread.
#pragma once

#include "attention/method.hpp"

namespace hirgen {

AttentionMethod<AttentionProblem> plan_by_tiles(const AttentionProblem& problem, const char* where);
AttentionMethod<AttentionGradProblem> plan_by_tiles(const AttentionGradProblem& problem,
                                                    const char* where);

}  // namespace hirgen
