// Inputs and their check. A tensor is filled by a rule on its global index, so each rank
// fills its own shard, a reference fills the whole, and both hold the same values.
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

/// Fills this rank's shard with normally distributed values (mean 0, deviation
/// desc.deviation): what a check takes that cannot be exact, and the load that a timed
/// GEMM should have, since its power draw depends on the data. An integer that is alone is a seed
/// of 24 bits; others are below 256, half of them 0, as positions and masks may be.
void fill_normal(void* local, const TensorDesc& desc, int input, uint64_t seed,
                 cudaStream_t stream);
/// The same values of the whole tensor, rounded to its element type, as fp32.
void fill_normal_whole(float* whole, const TensorDesc& desc, int input, uint64_t seed,
                       cudaStream_t stream);

/// Writes 0xFF over a buffer: every element becomes a NaN, which no check accepts.
void poison(void* buffer, size_t bytes, cudaStream_t stream);

/// local = this rank's shard of a whole tensor, rounded to the element type.
void shard_from_whole(void* local, const TensorDesc& desc, const float* whole, cudaStream_t stream);
/// Writes this rank's shard to where it belongs in a whole tensor.
void shard_into_whole(float* whole, const TensorDesc& desc, const void* local, cudaStream_t stream);
/// fp32 from elements of `type`, and back with rounding; n elements, contiguous.
void widen_elements(float* out, const void* in, DType type, int64_t n, cudaStream_t stream);
void narrow_elements(void* out, DType type, const float* in, int64_t n, cudaStream_t stream);

/// What a check found in one rank's shard.
struct Wrong {
  int64_t count = 0;            ///< elements that differ
  int64_t first_index = 0;      ///< smallest global row-major index of one; if count > 0
  float got = 0, expected = 0;  ///< the values there
};

/// Compares this rank's shard with a whole reference (fp32, on the device). An element is
/// wrong when |got - expected| > abs_tol + rel_tol |expected|, or when one of the two is
/// NaN; with both tolerances 0 the comparison is exact. Waits for the result; nothing
/// but this rank's own kernels can be ahead of it on `stream`, or the wait is unbounded.
Wrong count_wrong(const void* local, const TensorDesc& desc, const float* whole, double rel_tol,
                  double abs_tol, cudaStream_t stream);

}  // namespace hirgen
