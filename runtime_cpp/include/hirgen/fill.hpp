// Generates inputs and checks outputs. The value of an input element depends only on the seed, the
// input and the element's index in the whole tensor. So each rank can fill its shard alone, and the
// reference fills the whole tensor with the same values.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// Fills this rank's shard of `desc` with integers in -2..2, so sparse that sums of
/// desc.contraction products are exact in fp32. Exceptions: integer types get 0..2, masks
/// (Fill::kMask) get 0 or 1, and row numbers (integers with desc.deviation > 1) are at least 0 and
/// below desc.deviation. `input` is the tensor's index among the inputs; all ranks pass the same
/// seed.
void fill_integers(void* local, const TensorDesc& desc, int input, uint64_t seed,
                   cudaStream_t stream);
/// Fills the whole tensor with the values of fill_integers(), stored as fp32.
void fill_integers_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                         cudaStream_t stream);

/// Fills this rank's shard with normally distributed values (mean 0, deviation desc.deviation), or
/// as desc.fill requires. Used for checks that cannot be exact, and for timing: realistic values
/// matter because the power draw of a GEMM, and so its speed, depends on its data. Integer types
/// get other values: row numbers (desc.deviation > 1) are below desc.deviation; else a tensor of
/// one element gets a seed of 24 bits, and larger tensors, which are positions or masks, get values
/// below 256, about half of them 0.
void fill_normal(void* local, const TensorDesc& desc, int input, uint64_t seed,
                 cudaStream_t stream);
/// Fills the whole tensor with the values of fill_normal(), rounded to its element type and stored
/// as fp32.
void fill_normal_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                       cudaStream_t stream);

/// Fills a buffer with bytes 0xFF: floating-point elements become NaN, integers become -1.
void poison(void* buffer, size_t bytes, cudaStream_t stream);

/// Copies this rank's shard of a whole tensor to `local`, rounded to the element type.
void shard_from_whole(void* local, const TensorDesc& desc, const float* whole, cudaStream_t stream);
/// Copies this rank's shard to its place in a whole tensor, as fp32.
void shard_into_whole(float* whole, const TensorDesc& desc, const void* local, cudaStream_t stream);
/// Convert n contiguous elements in device memory: widen_elements() from `type` to fp32, and
/// narrow_elements() from fp32 to `type`, with rounding.
void widen_elements(float* out, const void* in, DType type, int64_t n, cudaStream_t stream);
void narrow_elements(void* out, DType type, const float* in, int64_t n, cudaStream_t stream);

/// The result of a check of one rank's shard.
struct Wrong {
  int64_t count = 0;        ///< elements that are farther from the reference than their bound
  int64_t first_index = 0;  ///< smallest index of a wrong element in the whole tensor, if count > 0
  float got = 0, expected = 0;  ///< the values at first_index, if count > 0
  int64_t not_finite = 0;       ///< elements whose reference is NaN or infinite
  int64_t unsure = 0;           ///< elements with an infinite bound, which are not compared
};

/// Compares this rank's shard with the reference of the whole tensor (fp32, on the device). An
/// element is wrong if its distance from the reference exceeds its bound, which is 0 if `bounds` is
/// null. NaN equals NaN, and infinities of the same sign are equal. Blocks the host until the
/// result is known, without a deadline: earlier work on `stream` must not wait for other ranks.
Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole,
                  const float* bounds, cudaStream_t stream);

}  // namespace hirgen
