// Attention and its gradient, without a matrix of scores in memory:
//
//   O = softmax(scale Q K^T, over the keys that a query sees) V
//
// for each batch and head. The kernels process the keys tile by tile and update the softmax after
// each tile (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao,
// "FlashAttention-2", 2023). The gradient recomputes the probabilities from the log-sum-exp of each
// row of scores, a result of the forward call. If libcudnn can be loaded, cuDNN computes the shapes
// that it supports if all rows start at multiples of 16 bytes, unless AttentionShape::deterministic
// is set or HIRGEN_ATTENTION=tiled. The tiled kernels of src/attention/ compute all other
// attentions.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// The shape and kind of an attention. Several query heads may share a key head ("GQA"): query head
/// h uses the keys and values of head h / (query_heads / key_heads). Query row i is at position
/// query_start + i among the keys. If the sequence is split over ranks, query_start differs between
/// ranks.
struct AttentionShape {
  int64_t batch = 1, query_heads = 1, key_heads = 1;
  int64_t query_rows = 0, key_rows = 0;
  int64_t head_size = 0;       ///< at most kMostHeadSize
  bool causal = false;         ///< a query sees only keys up to its position
  int64_t window = 0;          ///< a causal query sees at most this many keys, the nearest; 0: all
  int64_t query_start = 0;     ///< position of the first query row
  float scale = 1;             ///< factor of the scores Q K^T
  DType dtype = DType::kBf16;  ///< of all tensors except lse; lse and all sums are fp32
  bool deterministic = false;  ///< the gradient must have the same bits on every run

  bool operator==(const AttentionShape&) const = default;
};

/// Returns the shape of the attention for query rows that start `times` * query_rows rows later in
/// the sequence, as on another rank.
constexpr AttentionShape behind(AttentionShape shape, int64_t times) {
  shape.query_start += times * shape.query_rows;
  return shape;
}

constexpr int64_t kMostHeadSize = 256;

/// Returns the shape as text: "O[1, 32, 4096, 128] of K[1, 8, 4096, 128], causal, bf16".
std::string describe(const AttentionShape& shape);

/// The distances in elements between batches, heads and rows of a tensor. The elements of one row
/// are adjacent.
struct AttentionStride {
  int64_t batch = 0, head = 0, row = 0;
  int64_t align = 16;  ///< alignment of all pointers to the tensor in bytes, at most 16

  bool operator==(const AttentionStride&) const = default;
};

/// The strides and alignments of Q, K, V and O, or of their gradients.
struct AttentionLayout {
  AttentionStride q{}, k{}, v{}, o{};
  int64_t align_lse = 16;  ///< alignment of pointers to lse in bytes, at most 16

  bool operator==(const AttentionLayout&) const = default;
};

/// The operands of a forward call. The call writes `o` and, unless `lse` is null, the log-sum-exp
/// of each query's scores to `lse`: dense [batch, query_heads, query_rows].
struct AttentionOperands {
  const void *q, *k, *v;
  void* o;
  float* lse;
};

/// The operands of a gradient call, which writes grad_q, grad_k and grad_v. `o` and `lse` are
/// results of the forward call.
struct AttentionGradOperands {
  const void *grad_o, *q, *k, *v, *o;
  const float* lse;
  void *grad_q, *grad_k, *grad_v;
};

struct AttentionProblem;
struct AttentionGradProblem;
template <typename Problem>
struct AttentionMethod;

/// One attention, with the implementation that computes it. Its calls may run at the same time if
/// each has its own workspace.
class AttentionPlan {
 public:
  size_t workspace_bytes = 0;

  /// Throws Error(kInternal) for an invalid shape, Error(kUsage) if HIRGEN_ATTENTION is neither
  /// empty, "cudnn" nor "tiled", and Error(kEnvironment) if it is "cudnn" and cuDNN does not
  /// support the attention. `where` is the spec position, a string that outlives the plan.
  AttentionPlan(Context& context, const AttentionShape& shape, const AttentionLayout& layout,
                const char* where);
  /// Returns workspace_bytes, for workspace_for().
  size_t scratch_bytes() const { return workspace_bytes; }

  /// Enqueues the attention. For a query that sees no key, O is 0 and lse is -inf. `workspace` has
  /// workspace_bytes bytes.
  void run(const AttentionOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const;

 private:
  std::shared_ptr<const AttentionMethod<AttentionProblem>> method_;
};

/// The gradient of one attention, with the implementation that computes it.
class AttentionGradPlan {
 public:
  size_t workspace_bytes = 0;

  /// `layout` describes Q, K, V and O, and `gradients` describes their gradients. Throws the same
  /// errors as AttentionPlan().
  AttentionGradPlan(Context& context, const AttentionShape& shape, const AttentionLayout& layout,
                    const AttentionLayout& gradients, const char* where);
  /// Returns workspace_bytes, for workspace_for().
  size_t scratch_bytes() const { return workspace_bytes; }

  /// Enqueues the gradient. `workspace` has workspace_bytes bytes.
  void run(const AttentionGradOperands& operands, void* workspace, cudaStream_t stream,
           const char* where) const;

 private:
  std::shared_ptr<const AttentionMethod<AttentionGradProblem>> method_;
};

}  // namespace hirgen
