// Inputs and their check. The value of an element depends on its global index only. So each rank
// fills its own shard, a reference fills the whole tensor, and both have the same values.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// Fills this rank's shard of `desc` with integers in -2..2, sparse enough that every sum
/// of products over desc.contraction terms is exact in fp32. `input` is the tensor's
/// index among the inputs; all ranks pass the same seed.
void fill_integers(void* local, const TensorDesc& desc, int input, uint64_t seed,
                   cudaStream_t stream);
/// The same values of the whole tensor, as fp32.
void fill_integers_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                         cudaStream_t stream);

/// Fills this rank's shard with normally distributed values (mean 0, deviation desc.deviation).
/// They are for checks that cannot be exact, and for timing: the power draw of a GEMM depends on
/// its data. A single integer is a seed of 24 bits. Other integers are positions or masks: below
/// 256, half of them 0.
void fill_normal(void* local, const TensorDesc& desc, int input, uint64_t seed,
                 cudaStream_t stream);
/// The same values of the whole tensor, rounded to its element type, as fp32.
void fill_normal_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                       cudaStream_t stream);

/// Writes 0xFF over a buffer: every element becomes a NaN.
void poison(void* buffer, size_t bytes, cudaStream_t stream);

/// local = this rank's shard of a whole tensor, rounded to the element type.
void shard_from_whole(void* local, const TensorDesc& desc, const float* whole, cudaStream_t stream);
/// Writes this rank's shard to its place in a whole tensor.
void shard_into_whole(float* whole, const TensorDesc& desc, const void* local, cudaStream_t stream);
/// fp32 from elements of `type`, and back with rounding; n elements, contiguous.
void widen_elements(float* out, const void* in, DType type, int64_t n, cudaStream_t stream);
void narrow_elements(void* out, DType type, const float* in, int64_t n, cudaStream_t stream);

/// The result of a check of one rank's shard.
struct Wrong {
  int64_t count = 0;            ///< elements that differ
  int64_t first_index = 0;      ///< smallest global row-major index of one; if count > 0
  float got = 0, expected = 0;  ///< the values there
  int64_t not_finite = 0;       ///< elements that must be NaN or infinite
  int64_t unsure = 0;           ///< elements with an infinite bound, which are not compared
};

/// Compares this rank's shard with a whole reference (fp32, on the device). An element is wrong if
/// it is farther from the reference than its bound; without bounds, if it differs. NaN equals NaN,
/// and infinities of one sign are equal. Blocks the host until the result is there. `stream` may
/// carry only this rank's own kernels before it, or the wait has no bound.
Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole,
                  const float* bounds, cudaStream_t stream);

}  // namespace hirgen
