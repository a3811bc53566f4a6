// Clears gradients that an implementation does not write.
#pragma once

#include <cuda_runtime.h>

#include "hirgen/attention.hpp"

namespace hirgen {

/// Clears the rows of K's or V's gradient from `first` on, of a 16-bit type.
void clear_keys(const AttentionShape& shape, int64_t first, void* gradient,
                const AttentionStride& stride, cudaStream_t stream, const char* where);

}  // namespace hirgen
