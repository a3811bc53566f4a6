// Attention and its gradient, without a matrix of scores in memory:
//
//   O = softmax(scale Q K^T, over the keys that a query sees) V
//
// for each batch and head, a tile at a time with the softmax carried along (Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018; Dao, "FlashAttention-2", 2023). The gradient
// computes the probabilities anew from the logarithms of the sums that the forward call leaves.
// cuDNN computes it where it can, and the tiled kernels of src/attention/ everything else.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// What is computed. Several query heads may share a key head, as many each ("GQA"): query head h
/// has the keys and values of head h / (query_heads / key_heads). Query row i stands at position
/// query_start + i among the keys: ranks that hold parts of a sequence have other starts.
struct AttentionShape {
  int64_t batch = 1, query_heads = 1, key_heads = 1;
  int64_t query_rows = 0, key_rows = 0;
  int64_t head_size = 0;    ///< at most kMostHeadSize
  bool causal = false;      ///< a query sees no key behind its position
  int64_t window = 0;       ///< and of the others the last `window`; 0: all. Causal alone has one
  int64_t query_start = 0;  ///< position of the first query row
  float scale = 1;          ///< of the products Q K^T
  DType dtype = DType::kBf16;  ///< of all tensors but the logarithms; arithmetic is fp32

  bool operator==(const AttentionShape&) const = default;
};

/// The same for the rows that stand so many times as many rows further on: those of another rank.
constexpr AttentionShape behind(AttentionShape shape, int64_t times) {
  shape.query_start += times * shape.query_rows;
  return shape;
}

constexpr int64_t kMostHeadSize = 256;

/// The shape in words: "O[1, 32, 4096, 128] of K[1, 8, 4096, 128], causal, bf16".
std::string describe(const AttentionShape& shape);

/// Elements between batches, heads and rows of a tensor. Those of a row of a head are adjacent.
struct AttentionStride {
  int64_t batch = 0, head = 0, row = 0;
  int64_t align = 16;  ///< bytes, up to 16, that all pointers to the tensor are multiples of

  bool operator==(const AttentionStride&) const = default;
};

/// Where the operands lie, or where their gradients do.
struct AttentionLayout {
  AttentionStride q{}, k{}, v{}, o{};
  int64_t align_lse = 16;  ///< of the logarithms, as of a tensor

  bool operator==(const AttentionLayout&) const = default;
};

/// The operands of a call: it writes O and, where it is not null, the logarithm of the sum of the
/// exponentials of each query's scores, dense [batch, query_heads, query_rows].
struct AttentionOperands {
  const void *q, *k, *v;
  void* o;
  float* lse;
};

/// The operands of the gradient's call: it writes the last three. O and the logarithms are those
/// of the forward call.
struct AttentionGradOperands {
  const void *grad_o, *q, *k, *v, *o;
  const float* lse;
  void *grad_q, *grad_k, *grad_v;
};

struct AttentionProblem;
struct AttentionGradProblem;
template <typename Problem>
struct AttentionMethod;

/// One attention. Its calls may run at once if each has a workspace.
class AttentionPlan {
 public:
  size_t workspace_bytes = 0;

  /// Throws Error where the shape contradicts itself. `where` is the spec position, a string that
  /// outlives the plan.
  AttentionPlan(Context& context, const AttentionShape& shape, const AttentionLayout& layout,
                const char* where);
  /// The workspace to have for it, in bytes.
  size_t room() const { return workspace_bytes; }

  /// Enqueues it. A query that sees no key gives zeros and -inf.
  void run(const AttentionOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const;

 private:
  std::shared_ptr<const AttentionMethod<AttentionProblem>> method_;
};

/// The gradient of one attention.
class AttentionGradPlan {
 public:
  size_t workspace_bytes = 0;

  /// `gradients` says where those of Q, K, V and O lie.
  AttentionGradPlan(Context& context, const AttentionShape& shape, const AttentionLayout& layout,
                    const AttentionLayout& gradients, const char* where);
  /// The workspace to have for it, in bytes.
  size_t room() const { return workspace_bytes; }

  /// Enqueues it.
  void run(const AttentionGradOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const;

 private:
  std::shared_ptr<const AttentionMethod<AttentionGradProblem>> method_;
};

}  // namespace hirgen
