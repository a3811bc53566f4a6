// Clears gradients that an implementation does not write.
#pragma once

#include <cuda_runtime.h>

#include "hirgen/attention.hpp"

namespace hirgen {

/// Clears the rows from `first` on of the gradient of K or V, in all heads. Its type has 16 bits.
void clear_keys(const AttentionShape& shape, int64_t first, void* gradient,
                const AttentionStride& stride, cudaStream_t stream, const char* where);

}  // namespace hirgen
