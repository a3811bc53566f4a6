// The kernels of the reference: operands and results are fp32, but computed results are rounded to
// an element type.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/host_device.hpp"
#include "hirgen/kernels.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen::reference {

/// Returns the offset in `view`, in elements, of the element with row-major index i.
HG_HOST_DEVICE inline int64_t offset_of(const Strided& view, int64_t i) {
  int64_t offset = 0;
  for (int d = view.axes - 1; d >= 0; --d) {
    offset += i % view.extent[d] * view.stride[d];
    i /= view.extent[d];
  }
  return offset;
}

inline int64_t elements_of(const Strided& view) {
  int64_t product = 1;
  for (int d = 0; d < view.axes; ++d) product *= view.extent[d];
  return product;
}

/// The shape of c[batch, m, n] = a[batch, m, k] b[batch, k, n] (+ bias[n]). Each sum is added in
/// the order of k.
struct Matmul {
  int64_t batch, m, n, k;
  bool shared_b;      ///< b has no batch axis
  bool transposed_b;  ///< b is stored [n, k]
  DType dtype;        ///< the type to which c is rounded
};

/// Enqueues a matmul; `bias` may be null. Throws Error(kUsage) if it is too large for one grid.
void matmul(const Matmul& shape, float* c, const float* a, const float* b, const float* bias,
            cudaStream_t stream);
/// out[i] = fn(in[i]), n elements.
void unary(UnaryFn fn, float* out, const float* in, int64_t n, DType dtype, cudaStream_t stream);
/// out[i] = fn(a, b) at index i; both views have out's extents, and stride 0 broadcasts.
void binary(BinaryFn fn, float* out, const float* a, const Strided& a_view, const float* b,
            const Strided& b_view, DType dtype, cudaStream_t stream);
/// The operands of dropout(): out[i] = the dropout of x[i]. `column` and `row` hold the coordinates
/// of x[i] in the whole tensor; `row` may be null.
struct DropoutOperands {
  const float* x = nullptr;
  int64_t seed = 0;
  const float* column = nullptr;
  Strided column_view = {};
  const float* row = nullptr;
  Strided row_view = {};
};
void dropout(const Dropout& kind, float* out, const DropoutOperands& in, int64_t n, DType dtype,
             cudaStream_t stream);
/// out[outer, inner] = the reduction by fn of in[outer, count, inner] along the middle axis.
void reduce(ReduceFn fn, float* out, const float* in, int64_t outer, int64_t count, int64_t inner,
            DType dtype, cudaStream_t stream);
/// out[i] = the element of `in` that in_view puts at out's row-major index i.
void gather(float* out, const float* in, const Strided& in_view, cudaStream_t stream);
/// The operands of gather_rows(): out[block, number, inner] = row ids[block / shared, number] -
/// first[block / counted] of in[block, count, inner], or 0 if there is no such row. out has n
/// elements; `first` may be null.
struct Rows {
  const float *ids = nullptr, *first = nullptr;
  int64_t count = 1, numbers = 1, inner = 1, shared = 1, counted = 1;

  /// Returns the index in ids of the number that selects element i of the result.
  HG_HOST_DEVICE int64_t number(int64_t i) const {
    const int64_t row = i / inner;
    return row / numbers / shared * numbers + row % numbers;
  }
};
void gather_rows(float* out, const float* in, const Rows& rows, int64_t n, cudaStream_t stream);
/// Sets the bound of an element of a gather_rows() to infinity if its id has a bound above 0.
void unsure_rows(float* bound, const float* ids_bound, const Rows& rows, int64_t n,
                 cudaStream_t stream);
/// The inverse of gather(): copies element i of `in` to the element of `out` at index i of
/// out_view.
void scatter(float* out, const Strided& out_view, const float* in, cudaStream_t stream);

}  // namespace hirgen::reference
