// The reference of the check: each rank computes the operations of the spec, one by one, on whole
// tensors, with simple kernels. Values are fp32. Each result is rounded to its element type, as in
// the program under test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/kernels.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// The keys that a query sees, and the factor of its scores; see AttentionShape.
struct AttentionKind {
  bool causal = false;
  int64_t window = 0;
  float scale = 1;
  /// If queries have a leading axis that keys lack: true if that axis counts blocks of heads, false
  /// if it counts blocks of rows.
  bool split_heads = false;
};

/// The names of the results of an attention gradient.
struct GradNames {
  const char *q, *k, *v;
};

/// Evaluates the operations of a spec. Operands and results are names of tensors. Shapes are the
/// shapes of whole tensors, over all ranks.
class Reference {
 public:
  virtual ~Reference() = default;
  using Shape = std::vector<int64_t>;

  /// Each function defines `out` (or its other results) from tensors that are already defined, and
  /// rounds to `dtype` if it has this parameter. The inputs are defined before the first call.
  /// set() makes `out` equal to `in`; but if `out` is an input that was loaded from a file, set()
  /// keeps its value.
  virtual void set(const char* out, const char* in) = 0;
  virtual void matmul(const char* out, const char* a, const char* b, DType dtype) = 0;
  /// `bias` may be null.
  virtual void linear(const char* out, const char* x, const char* w, const char* bias,
                      DType dtype) = 0;
  /// linear() of 8-bit x and w with scales of blocks of 128 elements of a row of x, and of squares
  /// of w. The scales `s` and `t` have the axes of x and w, with the blocks as their last one or
  /// two.
  virtual void block_linear(const char* out, const char* x, const char* w, const char* s,
                            const char* t, DType dtype) = 0;
  /// Inserts an axis of one element before `axis`, which later operations broadcast.
  virtual void broadcast(const char* out, const char* in, int axis) = 0;
  virtual void permute(const char* out, const char* in, const std::vector<int>& perm) = 0;
  virtual void reshape(const char* out, const char* in, const Shape& shape) = 0;
  /// Elements start..start+extent-1 along an axis.
  virtual void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) = 0;
  /// Concatenates tensors along an axis.
  virtual void concat(const char* out, const std::vector<const char*>& in, int axis) = 0;
  /// The rows of `table`, along `axis`, whose numbers are in `ids`, and zeros for numbers without a
  /// row. The first `batches` axes of `ids` are the leading axes of `table`; the others replace
  /// `axis`. Unless `first` is null, `table` has blocks of rows: the axes of `first`, which holds
  /// the number of each block's first row, are leading axes of `table`.
  virtual void gather(const char* out, const char* table, const char* ids, const char* first,
                      int axis, int batches) = 0;
  /// The numbers 0, 1, ..., extent - 1.
  virtual void positions(const char* out, int64_t extent) = 0;
  /// `logs`, the log-sum-exp of each query's scores, may be null.
  virtual void attention(const char* out, const char* logs, const AttentionKind& kind,
                         const char* q, const char* k, const char* v, DType dtype) = 0;
  virtual void attention_grad(const GradNames& out, const AttentionKind& kind, const char* grad_o,
                              const char* q, const char* k, const char* v, const char* o,
                              const char* logs, DType dtype) = 0;
  /// Dropout of `x`. `column` and `row` hold the coordinates of each element in the whole tensor;
  /// `row` may be null.
  virtual void dropout(const char* out, const Dropout& kind, const char* x, const char* seed,
                       const char* column, const char* row, DType dtype) = 0;
  virtual void cast(const char* out, const char* in, DType dtype) = 0;
  virtual void unary(const char* out, const char* fn, const char* in, DType dtype) = 0;
  virtual void binary(const char* out, const char* fn, const char* a, const char* b,
                      DType dtype) = 0;
  virtual void reduce(const char* out, const char* fn, const char* in, int axis, DType dtype) = 0;
};

}  // namespace hirgen
