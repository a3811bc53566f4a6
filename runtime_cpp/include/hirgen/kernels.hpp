// Elementwise kernels, gathers, reductions and top_k, which emitted programs launch. The same
// source is compiled by nvcc for GPUs and by the host compiler for the CPU device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string_view>

#include "hirgen/function_rows.hpp"
#include "hirgen/host_device.hpp"
#include "hirgen/tensor.hpp"
#include "hirgen/type_headers.hpp"

namespace hirgen {

#define HG_ENUMERATOR(enumerator, ...) enumerator,

/// A function of one operand. Its name in specs is the enumerator's in snake case: kGeluTanh is
/// gelu_tanh. kCopy has no name in specs; unary_fn() calls it "copy". kGelu is the exact form, with
/// erf; kGeluTanh is the tanh form.
struct UnaryFn {
  /// The functions that use the constant `by` are the last enumerators.
  enum Kind { kCopy, HG_UNARY_FUNCTIONS(HG_ENUMERATOR) HG_CONSTANT_FUNCTIONS(HG_ENUMERATOR) };

  HG_HOST_DEVICE constexpr UnaryFn(Kind function, float constant = 0.0F)
      : kind(function), by(constant) {}

  Kind kind;
  float by;
};
/// Functions of two operands. A comparison returns 1 or 0. The second operand of kKeep, kDrop and
/// kMasked is a mask, which is true where it is not 0. kKeep returns the first operand where the
/// mask is true, and 0 elsewhere. kDrop returns 0 where the mask is true, and the first operand
/// elsewhere. kMasked returns the first operand where the mask is true, and -inf elsewhere.
enum class BinaryFn { HG_BINARY_FUNCTIONS(HG_ENUMERATOR) };
/// Reduction functions: sum, max, min and prod, with the identities 0, -inf, +inf and 1.
enum class ReduceFn { HG_FOLDS(HG_ENUMERATOR) };

#undef HG_ENUMERATOR

/// Return the function with this name in specs; throw Error(kInternal) for an unknown name. The
/// constant of a unary function follows in parentheses: "scale(0.125)".
UnaryFn unary_fn(std::string_view spelling);
BinaryFn binary_fn(std::string_view spelling);
ReduceFn reduce_fn(std::string_view spelling);

constexpr int kMaxAxes = 8;

/// A strided view of memory. Each of `axes` axes has an extent and a stride in elements; stride 0
/// broadcasts one element.
struct Strided {
  int axes = 0;
  int64_t extent[kMaxAxes] = {};
  int64_t stride[kMaxAxes] = {};
};

/// An operand of a fused kernel that need not be dense. `stride` holds, in elements, the strides of
/// the A axes of rows, then the stride along a row.
template <typename T, int A>
struct Scattered {
  T* data;
  int64_t stride[A + 1];
};
/// An operand of a fused kernel that is computed from indices instead of read from memory. The
/// value of an element is the offset that it would have in a Scattered operand with these strides.
template <int A>
struct Counted {
  int64_t stride[A + 1];
};

/// Drops random elements; see dropout.hpp.
struct Dropout {
  float p = 0;        ///< probability that an element is dropped, 0 <= p < 1 - 2^-17
  int64_t salt = 0;   ///< distinguishes dropouts that have the same seed
  int64_t width = 1;  ///< columns of a row of the whole tensor
};

/// Delays `stream` by about `microseconds`, so that other streams start first, or so that the host
/// can enqueue more work meanwhile. Does nothing on the CPU device, where streams may run in any
/// order anyway.
void launch_delay(int64_t microseconds, cudaStream_t stream, const char* where);

/// Enqueues out[i] = fn(in[i]) over out's extents; kCopy with strides copies, casts or permutes. A
/// copy of integers or 8-bit elements to the same type keeps all bits. Otherwise, fn computes in
/// fp32, and narrow() (numerics.hpp) converts the result. If an axis of `in` has one element, it is
/// broadcast, whatever its stride. `out` may be `in` if their views are equal. Here and below, all
/// views of a call must have the same number of axes, or the function throws Error(kInternal).
/// `where` is the spec position, a string that outlives the program.
void launch_unary(UnaryFn fn, void* out, DType out_type, const Strided& out_view, const void* in,
                  DType in_type, const Strided& in_view, cudaStream_t stream, const char* where);
/// Enqueues out[i] = fn(a[i], b[i]) over out's extents; a and b have type in_type.
void launch_binary(BinaryFn fn, void* out, DType out_type, const Strided& out_view, const void* a,
                   const Strided& a_view, const void* b, const Strided& b_view, DType in_type,
                   cudaStream_t stream, const char* where);
/// Enqueues out = the reduction of `in` by fn along `axis`; out's extent along `axis` is 1.
/// Accumulates in fp32, in an order that is the same in every run, and rounds once. Throws
/// Error(kInternal) if in_type is an integer type or has 8 bits.
void launch_reduce(ReduceFn fn, int axis, void* out, DType out_type, const Strided& out_view,
                   const void* in, DType in_type, const Strided& in_view, cudaStream_t stream,
                   const char* where);

/// Enqueues a gather of rows of `table`. Axis 0 of `table` numbers its rows; the other views have
/// one element along axis 0. Each element of `out` comes from the row whose number is the
/// corresponding element of `ids`, minus the corresponding element of `first` unless `first` is
/// null. The element is 0 if the table has no such row. `out` and `table` have type `type`;
/// ids_type is kInt32 or kInt64.
void launch_gather(void* out, const Strided& out_view, const void* table, const Strided& table_view,
                   DType type, const void* ids, const Strided& ids_view, DType ids_type,
                   const float* first, const Strided& first_view, cudaStream_t stream,
                   const char* where);

/// Enqueues the selection of the k largest elements of each row of `in`, in descending order. The
/// last axis is the axis of columns. `values` and `positions` have the rows of `in` and k columns;
/// `positions` gets the column of each selected element. Elements are compared in fp32. Of equal
/// elements, the element with the smaller column comes first. In a row with NaN, all values are NaN
/// and all positions are INT32_MAX. `values` and `in` have type `type`. Throws Error(kInternal) if
/// `type` has 8 bits.
void launch_top_k(void* values, const Strided& values_view, int32_t* positions,
                  const Strided& positions_view, const void* in, DType type, const Strided& in_view,
                  cudaStream_t stream, const char* where);

/// Enqueues out[i] = first + i for i in [0, elements).
void launch_positions(float* out, int64_t first, int64_t elements, cudaStream_t stream,
                      const char* where);

/// Returns the DType of a C++ element type.
template <typename T>
constexpr DType dtype_of() = delete;
#define HG_DTYPE_OF(enumerator, name, type, ...) \
  template <>                                    \
  constexpr DType dtype_of<type>() {             \
    return DType::enumerator;                    \
  }
HG_TYPES(HG_DTYPE_OF)
#undef HG_DTYPE_OF

/// The kernels above for typed pointers. Without views, each operand has `elements` contiguous
/// elements.
template <typename O, typename I>
void launch_unary(UnaryFn fn, O* out, const Strided& out_view, const I* in, const Strided& in_view,
                  cudaStream_t stream, const char* where) {
  launch_unary(fn, out, dtype_of<O>(), out_view, in, dtype_of<I>(), in_view, stream, where);
}
template <typename O, typename I>
void launch_unary(UnaryFn fn, O* out, const I* in, int64_t elements, cudaStream_t stream,
                  const char* where) {
  const Strided run{1, {elements}, {1}};
  launch_unary(fn, out, run, in, run, stream, where);
}
template <typename O, typename I>
void launch_binary(BinaryFn fn, O* out, const Strided& out_view, const I* a, const Strided& a_view,
                   const I* b, const Strided& b_view, cudaStream_t stream, const char* where) {
  launch_binary(fn, out, dtype_of<O>(), out_view, a, a_view, b, b_view, dtype_of<I>(), stream,
                where);
}
template <typename O, typename I>
void launch_binary(BinaryFn fn, O* out, const I* a, const I* b, int64_t elements,
                   cudaStream_t stream, const char* where) {
  const Strided run{1, {elements}, {1}};
  launch_binary(fn, out, run, a, run, b, run, stream, where);
}
template <typename O, typename I>
void launch_reduce(ReduceFn fn, int axis, O* out, const Strided& out_view, const I* in,
                   const Strided& in_view, cudaStream_t stream, const char* where) {
  launch_reduce(fn, axis, out, dtype_of<O>(), out_view, in, dtype_of<I>(), in_view, stream, where);
}
template <typename T>
void launch_top_k(T* values, const Strided& values_view, int32_t* positions,
                  const Strided& positions_view, const T* in, const Strided& in_view,
                  cudaStream_t stream, const char* where) {
  launch_top_k(values, values_view, positions, positions_view, in, dtype_of<T>(), in_view, stream,
               where);
}
template <typename T, typename Id>
void launch_gather(T* out, const Strided& out_view, const T* table, const Strided& table_view,
                   const Id* ids, const Strided& ids_view, const float* first,
                   const Strided& first_view, cudaStream_t stream, const char* where) {
  launch_gather(out, out_view, table, table_view, dtype_of<T>(), ids, ids_view, dtype_of<Id>(),
                first, first_view, stream, where);
}
template <typename T, typename Id>
void launch_gather(T* out, const Strided& out_view, const T* table, const Strided& table_view,
                   const Id* ids, const Strided& ids_view, cudaStream_t stream, const char* where) {
  launch_gather(out, out_view, table, table_view, ids, ids_view, nullptr, ids_view, stream, where);
}

}  // namespace hirgen
