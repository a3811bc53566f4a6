// Attention for the reference, a row of queries or of keys at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/reference.hpp"

namespace hirgen::reference {

/// Row-major extents: O[blocks, batch, query_heads, rows, size] of K[batch, key_heads, keys, size].
/// Blocks are of rows, or of heads if the kind says so; the last row of them all is at the last
/// key.
struct Attention {
  AttentionKind kind{};
  int64_t blocks = 1, batch = 1, query_heads = 1, key_heads = 1, rows = 1, keys = 1, size = 1;
  DType dtype = DType::kFp32;  ///< results but the logarithms are rounded to it
};

/// Sums of squares, on the device: of the elements of a result, and of the terms that they are sums
/// of, before any of these cancel.
struct Squares {
  double elements = 0, terms = 0;
};

/// `logs` may be null. Adds to squares of O and of the logarithms.
void attention(const Attention& shape, float* o, float* logs, Squares* squares, const float* q,
               const float* k, const float* v, cudaStream_t stream);

/// The operands of the gradient; those of K and V have the axis of the blocks.
struct AttentionGrad {
  const float *grad_o, *q, *k, *v, *o, *logs;
  float *grad_q, *grad_k, *grad_v;
  Squares* squares;  ///< of the three in this order, which are added to
};

void attention_grad(const Attention& shape, const AttentionGrad& operands, cudaStream_t stream);

}  // namespace hirgen::reference
