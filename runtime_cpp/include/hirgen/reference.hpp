// The oracle: the operations of the model, one by one, on whole tensors of one rank, by kernels
// that are too simple to be wrong. Values are fp32. Each result is rounded to its element type, as
// in the program under test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/kernels.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// The keys that a query sees, and the scale of its products with them; see attention.hpp.
struct AttentionKind {
  bool causal = false;
  int64_t window = 0;
  float scale = 1;
  /// If queries have a leading axis that keys lack: whether it counts blocks of heads, or of rows.
  bool split_heads = false;
};

/// The results of an attention's gradient.
struct GradNames {
  const char *q, *k, *v;
};

/// Evaluates the model. Tensors are named; shapes are logical (all ranks' shards).
class Reference {
 public:
  virtual ~Reference() = default;
  using Shape = std::vector<int64_t>;

  /// The inputs are defined under their names. Each call defines `out`. If `out` is an input that a
  /// forward pass saves, the call sets it, unless a file gave its value.
  virtual void set(const char* out, const char* in) = 0;
  virtual void matmul(const char* out, const char* a, const char* b, DType dtype) = 0;
  /// `bias` may be null.
  virtual void linear(const char* out, const char* x, const char* w, const char* bias,
                      DType dtype) = 0;
  virtual void broadcast(const char* out, const char* in, int axis) = 0;
  virtual void permute(const char* out, const char* in, const std::vector<int>& perm) = 0;
  virtual void reshape(const char* out, const char* in, const Shape& shape) = 0;
  /// `extent` elements of an axis, from `start` on.
  virtual void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) = 0;
  /// Tensors one after the other along an axis.
  virtual void concat(const char* out, const std::vector<const char*>& in, int axis) = 0;
  /// 0, 1, ..., extent - 1.
  virtual void positions(const char* out, int64_t extent) = 0;
  /// `logs`, the logarithms of the sums of exponentials, may be null.
  virtual void attention(const char* out, const char* logs, const AttentionKind& kind,
                         const char* q, const char* k, const char* v, DType dtype) = 0;
  virtual void attention_grad(const GradNames& out, const AttentionKind& kind, const char* grad_o,
                              const char* q, const char* k, const char* v, const char* o,
                              const char* logs, DType dtype) = 0;
  /// Dropout of `x`. `column` and `row` hold each element's place in the whole tensor; row may be
  /// null.
  virtual void dropout(const char* out, const Dropout& kind, const char* x, const char* seed,
                       const char* column, const char* row, DType dtype) = 0;
  virtual void cast(const char* out, const char* in, DType dtype) = 0;
  virtual void unary(const char* out, const char* fn, const char* in, DType dtype) = 0;
  virtual void binary(const char* out, const char* fn, const char* a, const char* b,
                      DType dtype) = 0;
  virtual void reduce(const char* out, const char* fn, const char* in, int axis, DType dtype) = 0;
};

}  // namespace hirgen
