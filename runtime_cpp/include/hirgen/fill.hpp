// Generates inputs and checks outputs. The value of an input element depends only on the seed, the
// input and the element's global index. So each rank fills its shard, and the reference fills the
// whole tensor with the same values.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// Fills this rank's shard of `desc` with integers in -2..2, so sparse that every sum of
/// desc.contraction products is exact in fp32. Integer types get none below 0; masks (Fill::kMask)
/// get 0 or 1, and numbers of rows are below desc.deviation. `input` is the tensor's index among
/// the inputs; all ranks pass the same seed.
void fill_integers(void* local, const TensorDesc& desc, int input, uint64_t seed,
                   cudaStream_t stream);
/// The same values for the whole tensor, as fp32.
void fill_integers_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                         cudaStream_t stream);

/// Fills this rank's shard with normally distributed values (mean 0, deviation desc.deviation), or
/// as desc.fill requires. They are for checks that cannot be exact, and for timing: the power draw
/// of a GEMM depends on its data. For integer types, a tensor of one element gets a seed of 24
/// bits. Numbers of rows are below desc.deviation. Others are positions or masks: values below 256,
/// half of them 0.
void fill_normal(void* local, const TensorDesc& desc, int input, uint64_t seed,
                 cudaStream_t stream);
/// The same values for the whole tensor, rounded to its element type, as fp32.
void fill_normal_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                       cudaStream_t stream);

/// Fills a buffer with bytes 0xFF: floating-point elements become NaN, integers -1.
void poison(void* buffer, size_t bytes, cudaStream_t stream);

/// local = this rank's shard of a whole tensor, rounded to the element type.
void shard_from_whole(void* local, const TensorDesc& desc, const float* whole, cudaStream_t stream);
/// Writes this rank's shard to its place in a whole tensor.
void shard_into_whole(float* whole, const TensorDesc& desc, const void* local, cudaStream_t stream);
/// Converts n contiguous elements of `type` to fp32, and back with rounding.
void widen_elements(float* out, const void* in, DType type, int64_t n, cudaStream_t stream);
void narrow_elements(void* out, DType type, const float* in, int64_t n, cudaStream_t stream);

/// The result of a check of one rank's shard.
struct Wrong {
  int64_t count = 0;            ///< elements that differ
  int64_t first_index = 0;      ///< smallest global row-major index of these, if count > 0
  float got = 0, expected = 0;  ///< the values there
  int64_t not_finite = 0;       ///< elements whose reference is NaN or infinite
  int64_t unsure = 0;           ///< elements with an infinite bound, which are not compared
};

/// Compares this rank's shard with the reference of the whole tensor (fp32, on the device). An
/// element is wrong if its distance from the reference exceeds its bound, or is not 0 if `bounds`
/// is null. NaN equals NaN, and infinities of the same sign are equal. Blocks the host until the
/// result is known. Earlier work on `stream` must not wait for other ranks: this wait has no
/// deadline.
Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole,
                  const float* bounds, cudaStream_t stream);

}  // namespace hirgen
