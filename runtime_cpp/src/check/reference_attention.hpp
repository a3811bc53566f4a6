// Attention for the reference. One step of a loop computes one row of queries or of keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/reference.hpp"

namespace hirgen::reference {

/// An attention with row-major O[blocks, batch, query_heads, rows, size] and K[batch, key_heads,
/// keys, size]. Blocks are blocks of rows, or with kind.split_heads blocks of heads. The last row
/// of the sequence is at the position of the last key.
struct Attention {
  AttentionKind kind{};
  int64_t blocks = 1, batch = 1, query_heads = 1, key_heads = 1, rows = 1, keys = 1, size = 1;
  DType dtype = DType::kFp32;  ///< type of results; log-sum-exps are fp32
};

/// Computes O and, unless null, `logs`, the log-sum-exp of each query.
void attention(const Attention& shape, float* o, float* logs, const float* q, const float* k,
               const float* v, cudaStream_t stream);

/// The operands of attention_grad(). The gradients of K and V have a leading axis of blocks.
struct AttentionGrad {
  const float *grad_o, *q, *k, *v, *o, *logs;
  float *grad_q, *grad_k, *grad_v;
};

void attention_grad(const Attention& shape, const AttentionGrad& operands, cudaStream_t stream);

}  // namespace hirgen::reference
