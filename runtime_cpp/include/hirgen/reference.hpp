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

/// Which keys a query sees, and the factor of its scores. The fields mean the same as in
/// AttentionShape.
struct AttentionKind {
  bool causal = false;
  int64_t window = 0;
  float scale = 1;
  /// Used if Q has a leading axis that K and V lack. True: the axis divides the query heads into
  /// blocks. False: it divides the query rows.
  bool split_heads = false;
};

/// The names of the results of attention_grad(): the gradients of Q, K and V.
struct GradNames {
  const char *q, *k, *v;
};

/// Evaluates the operations of a spec. Operands and results are names of tensors. Shapes are the
/// shapes of whole tensors, over all ranks.
class Reference {
 public:
  virtual ~Reference() = default;
  using Shape = std::vector<int64_t>;

  /// Each function defines the tensor `out`, or the tensors that its first parameter names, from
  /// tensors that are already defined. A function with the parameter `dtype` rounds its results to
  /// this type. The inputs are defined before the first call. set() makes `out` equal to `in`; but
  /// if `out` is an input that was loaded from a file, set() keeps the input's value.
  virtual void set(const char* out, const char* in) = 0;
  virtual void matmul(const char* out, const char* a, const char* b, DType dtype) = 0;
  /// `bias` may be null.
  virtual void linear(const char* out, const char* x, const char* w, const char* bias,
                      DType dtype) = 0;
  /// linear() of 8-bit x and w with scales. `s` has a scale for each block of 128 elements in a row
  /// of x, and `t` has one for each block of 128 x 128 elements of w. `s` and `t` have the axes of
  /// x and w, but count blocks along the last axis of x, and along the last two axes of w.
  virtual void block_linear(const char* out, const char* x, const char* w, const char* s,
                            const char* t, DType dtype) = 0;
  /// Inserts an axis of one element before axis number `axis`. Later operations broadcast the new
  /// axis.
  virtual void broadcast(const char* out, const char* in, int axis) = 0;
  virtual void permute(const char* out, const char* in, const std::vector<int>& perm) = 0;
  virtual void reshape(const char* out, const char* in, const Shape& shape) = 0;
  /// Takes elements `start` to start + extent - 1 along `axis`.
  virtual void slice(const char* out, const char* in, int axis, int64_t start, int64_t extent) = 0;
  /// Concatenates tensors along `axis`.
  virtual void concat(const char* out, const std::vector<const char*>& in, int axis) = 0;
  /// Gathers the rows of `table`, along `axis`, whose numbers are in `ids`, and zeros for numbers
  /// without a row. The first `batches` axes of `ids` are also the leading axes of `table`; the
  /// other axes of `ids` replace `axis` in the result. Unless `first` is null, `table` consists of
  /// blocks of rows: the axes of `first` are leading axes of `table`, and number the blocks.
  /// `first` holds the number of the first row of each block.
  virtual void gather(const char* out, const char* table, const char* ids, const char* first,
                      int axis, int batches) = 0;
  /// A tensor with the elements 0, 1, ..., extent - 1.
  virtual void positions(const char* out, int64_t extent) = 0;
  /// `logs` names the second result, the log-sum-exp of each query's scores, in fp32. It may be
  /// null.
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
